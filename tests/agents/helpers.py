"""What the tests of agents share."""

from __future__ import annotations

import numpy as np

from domino_envs.batch import BatchGame
from domino_envs.games.kernels import play


def masks_of(game, states):
    masks = np.zeros((len(states), game.num_actions), dtype=np.int8)
    for row in range(len(states)):
        masks[row, game.legal_actions(states, row)] = 1
    return masks


def after(states, row, action):
    """The position after an action, shape (1,)."""
    state = states[row : row + 1].copy()
    play(state[0], int(action))
    return state


def score(game, agent, other, deals, seed):
    """Share of the deals won by the first of two agents, draws by half; each deal is played in both seats."""
    batch = BatchGame(game, 2 * deals, episode="deal", auto_reset=False)
    orders = [
        [order]
        for order in np.random.default_rng(seed).permuted(np.tile(np.arange(game.num_tiles), (deals, 1)), axis=1)
    ]
    openers = [f"player_{k % 2}" for k in range(deals)]
    batch.reset(0, orders=[o for o in orders for _ in range(2)], openers=[o for o in openers for _ in range(2)])
    seat = np.tile([0, 1], deals)  # of the first agent
    while not batch.dones.all():
        for mine in (True, False):
            lanes = np.flatnonzero(((batch.movers == seat) == mine) & ~batch.dones)
            if len(lanes):
                player = agent if mine else other
                masks = batch.action_masks[lanes]
                batch.step(player.act(batch.observations[lanes], masks, batch.states[lanes]), lanes)
    winners = batch.states["winners"][:, 0]
    return float((winners == seat).mean() + (winners < 0).mean() / 2)
