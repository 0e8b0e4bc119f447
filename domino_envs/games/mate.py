"""Mate: a duel of attack and reply with the double-six set without doubles.

Source: the game's Polish description by Andrzej Lewicki's following; readings R6 to R8 are stated on the page of
:mod:`domino_envs.mate_v0`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bits import trailing_zeros
from ..jit import int64, kernel
from ..tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from .game import Game
from .kernels import HEADER, Kernels, finish_deal, register
from .layout import Field, Layout

__all__ = ["STATE", "make_game"]

NUM_TILES = 21
HAND = 10
LOW = TILES.low
HIGH = TILES.high
#: The six tiles that hold a pip, in ascending order, and the action's k when that pip touches.
WITH_PIP = np.array([[t for t in range(21) if p in (LOW[t], HIGH[t])] for p in range(7)], dtype=np.int8)
TOUCHING_HALF = np.array([[int(HIGH[t] == p) for t in WITH_PIP[p]] for p in range(7)], dtype=np.int8)
TILES_WITH_PIP = np.array([sum(1 << int(t) for t in row) for row in WITH_PIP], dtype=np.int64)

STATE = np.dtype(
    [
        *HEADER,
        ("starter", np.int8),
        ("open_pip", np.int8),  # the half to play onto; -1 at the opening, when both of the starter's are open
        ("count", np.int8),  # tiles on the table, the starter counted
        ("hands", np.int32, (2,)),  # bit sets of tile numbers
        ("dealt", np.int32, (2,)),
        ("line", np.int8, (NUM_TILES,)),  # actions played, in order
    ],
    align=True,
)

LAYOUT = Layout(
    [
        Field("my_hand", (21,), 0, 1, "tiles in my hand"),
        Field("their_hand", (21,), 0, 1, "tiles in the opponent's hand"),
        Field("my_played", (21,), 0, 1, "tiles that I have laid in this game"),
        Field("their_played", (21,), 0, 1, "tiles that the opponent has laid in this game"),
        Field("starter", (21,), 0, 1, "one-hot starter"),
        Field("open_pips", (7,), 0, 1, "pips that may be touched: both of the starter's at the opening, else one"),
        Field("table_count", (), 1, 21, "tiles on the table, the starter counted"),
        Field("deal", (), 0, 3, "number of this game in the episode"),
        Field("deals_left", (), 0, 3, "games still to come after this one"),
        Field("opened", (), 0, 1, "1 if I opened this game"),
        Field("my_points_high", (), 0, 7, "my points in the episode so far, whole 128s"),
        Field("my_points_low", (), 0, 127, "my points in the episode so far, the rest"),
        Field("their_points_high", (), 0, 7, "the opponent's points, whole 128s"),
        Field("their_points_low", (), 0, 127, "the opponent's points, the rest"),
    ]
)


@kernel
def _win(state: Any, winner: int) -> None:
    if state["count"] == 1:
        pips = LOW[state["starter"]] + HIGH[state["starter"]]
    else:
        tile = state["line"][state["count"] - 2] // 2
        pips = LOW[tile] + HIGH[tile]
    finish_deal(state, winner, int64(state["count"]) * int64(pips))


@kernel
def _targets(state: Any) -> int:
    """Return the bit set of tiles that fit the end of the line."""
    if state["open_pip"] >= 0:
        return TILES_WITH_PIP[state["open_pip"]]
    return TILES_WITH_PIP[LOW[state["starter"]]] | TILES_WITH_PIP[HIGH[state["starter"]]]


@kernel
def _deal(state: Any, order: Any) -> None:
    opener = int64(state["opener"])
    if state["deal"] % 2 == 0:
        for seat in range(2):
            hand = int64(0)
            for i in range(HAND):
                hand |= int64(1) << int64(order[HAND * seat + i])
            state["dealt"][opener if seat == 0 else 1 - opener] = hand
        state["starter"] = order[2 * HAND]
    else:  # the second game of a set: hands exchanged, so the same hand opens
        mine = state["dealt"][0]
        state["dealt"][0] = state["dealt"][1]
        state["dealt"][1] = mine
    state["hands"][0] = state["dealt"][0]
    state["hands"][1] = state["dealt"][1]
    state["open_pip"] = -1
    state["count"] = 1
    for i in range(NUM_TILES):
        state["line"][i] = -1
    state["mover"] = opener
    if state["hands"][opener] & _targets(state) == 0:
        _win(state, 1 - opener)  # R7


@kernel
def _moves(state: Any, actions: Any) -> int:
    hand = int64(state["hands"][state["mover"]])
    count = 0
    pip = state["open_pip"]
    if pip >= 0:
        for i in range(6):
            tile = int64(WITH_PIP[pip, i])
            if (hand >> tile) & 1:
                actions[count] = 2 * tile + TOUCHING_HALF[pip, i]
                count += 1
        return count
    low, high = LOW[state["starter"]], HIGH[state["starter"]]
    bits = hand & _targets(state)
    while bits:
        tile = trailing_zeros(bits)
        bits &= bits - 1
        touches_high = HIGH[tile] == low or HIGH[tile] == high
        actions[count] = 2 * tile + (1 if touches_high else 0)
        count += 1
    return count


@kernel
def _describe(state: Any, action: int) -> int:
    return action


@kernel
def _play(state: Any, action: int) -> None:
    mover = int64(state["mover"])
    tile = action >> 1
    state["hands"][mover] &= ~(int64(1) << tile)
    state["line"][state["count"] - 1] = action
    state["count"] += 1
    state["open_pip"] = LOW[tile] if action & 1 else HIGH[tile]
    if int64(state["hands"][1 - mover]) & _targets(state) == 0:
        _win(state, mover)
    else:
        state["mover"] = 1 - mover


@kernel
def _observe(state: Any, seat: int, vector: Any) -> None:
    other = 1 - seat
    mine, theirs = int64(state["hands"][seat]), int64(state["hands"][other])
    my_played = int64(state["dealt"][seat]) & ~mine
    their_played = int64(state["dealt"][other]) & ~theirs
    for tile in range(NUM_TILES):
        vector[tile] = (mine >> tile) & 1
        vector[21 + tile] = (theirs >> tile) & 1
        vector[42 + tile] = (my_played >> tile) & 1
        vector[63 + tile] = (their_played >> tile) & 1
        vector[84 + tile] = 0
    starter = int64(state["starter"])
    vector[84 + starter] = 1
    for pip in range(7):
        vector[105 + pip] = 0
    if state["open_pip"] >= 0:
        vector[105 + state["open_pip"]] = 1
    else:
        vector[105 + LOW[starter]] = 1
        vector[105 + HIGH[starter]] = 1
    vector[112] = state["count"]
    vector[113] = state["deal"]
    vector[114] = state["deals"] - 1 - state["deal"]
    vector[115] = state["opener"] == seat
    vector[116] = state["scores"][seat] >> 7
    vector[117] = state["scores"][seat] & 127
    vector[118] = state["scores"][other] >> 7
    vector[119] = state["scores"][other] & 127


@kernel
def _reveal(state: Any, vector: Any) -> None:
    pass  # both hands are open


def _move_text(code: int) -> str:
    low, high = LOW[code // 2], HIGH[code // 2]
    return f"{high}-{low}" if code % 2 else f"{low}-{high}"


def _tile_names(bits: int) -> str:
    return " ".join(name for tile, name in enumerate(TILES.names) if bits >> tile & 1) or "none"


def _text(state: Any, seat: int | None = None) -> str:
    """Draw the line as it grew (the touching half first) and both hands."""
    starter = int(state["starter"])
    line = [f"[{LOW[starter]}|{HIGH[starter]}]"]
    line += [f"[{_move_text(int(a)).replace('-', '|')}]" for a in state["line"][: state["count"] - 1]]
    if state["open_pip"] >= 0:
        target = f"a {state['open_pip']}"
    else:
        target = f"a {LOW[starter]} or a {HIGH[starter]}"
    rows = [
        f"Game {state['deal'] + 1} of {state['deals']}, opened by player_{state['opener']}",
        f"Points: player_0 {state['scores'][0]}, player_1 {state['scores'][1]}",
        "Line: " + "".join(line),
        f"player_0: {_tile_names(int(state['hands'][0]))}",
        f"player_1: {_tile_names(int(state['hands'][1]))}",
    ]
    rows.append("Over" if state["over"] else f"player_{state['mover']} to lay {target}")
    return "\n".join(rows)


register(STATE, Kernels(_deal, _moves, _describe, _play, _observe, _reveal))


def make_game() -> Game:
    """Return Mate's table."""
    return Game(
        name="mate",
        title="Mate",
        rules_version=1,
        parameters={},
        template=np.zeros(1, dtype=STATE),
        num_tiles=NUM_TILES,
        num_actions=42,
        layout=LAYOUT,
        hidden=Layout([]),
        episodes={"match": 4, "set": 2, "deal": 1},
        deals_per_order=2,
        move_text=_move_text,
        text=_text,
    )
