"""A game that no skill knows: take one to three from a heap, who takes the last wins. A heap of 4k is lost."""

from __future__ import annotations

import numpy as np

from domino_envs.games import Game
from domino_envs.games.kernels import HEADER, Kernels, finish_deal, register
from domino_envs.games.layout import Field, Layout
from domino_envs.jit import kernel

STATE = np.dtype([*HEADER, ("heap", np.int8)], align=True)


@kernel
def _deal(state, order):
    state["heap"] = 10 + order[0]
    state["mover"] = state["opener"]


@kernel
def _moves(state, actions):
    count = min(3, state["heap"])
    for i in range(count):
        actions[i] = i
    return count


@kernel
def _describe(state, action):
    return action


@kernel
def _play(state, action):
    state["heap"] -= action + 1
    if state["heap"] == 0:
        finish_deal(state, state["mover"], 1)
    else:
        state["mover"] = 1 - state["mover"]


@kernel
def _observe(state, seat, vector):
    vector[0] = state["heap"]


@kernel
def _reveal(state, vector):
    pass


register(STATE, Kernels(_deal, _moves, _describe, _play, _observe, _reveal))

NIM = Game(
    name="nim",
    title="Nim",
    rules_version=1,
    parameters={},
    template=np.zeros(1, dtype=STATE),
    num_tiles=4,
    num_actions=3,
    layout=Layout([Field("heap", (), 0, 13, "what is left")]),
    hidden=Layout([]),
    episodes={"deal": 1},
    deals_per_order=1,
    move_text=str,
    text=lambda state, seat=None: f"heap {state['heap']}",
)


def heaps(*sizes):
    """Positions with these heaps, player_0 to move."""
    states = np.repeat(NIM.start_record("deal"), len(sizes))
    states["heap"] = sizes
    return states
