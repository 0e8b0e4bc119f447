"""Episodes of any game, one lane at a time: shuffles, deal after deal, rewards. AEC and batch both run on this.

A lane is one running episode. Its parts lie in arrays indexed by lane: ``states`` (the game's records), ``rngs``
(``uint64``), ``orders`` (``int8 (lanes, shuffles, tiles)``: draw orders given or drawn) and ``num_orders`` (``int8``,
how many of them were given).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bits import mix_uint64, random_below, shuffle
from .games.kernels import deal, describe, finish_deal, moves, observe, play, reveal
from .jit import inlined_kernel, int64, kernel

__all__ = ["LOT", "end_deal", "lane_streams", "look", "look_as", "play_and_look", "play_episode_action", "reveal_all",
           "start_and_look", "start_episode", "write_mask"]  # fmt: skip

#: Opener argument: draw the lot.
LOT = -1


@kernel
def _fill_streams(base: Any, rngs: Any) -> None:
    for lane in range(len(rngs)):
        rngs[lane] = mix_uint64(base[0] ^ mix_uint64(np.uint64(lane) + base[1]))


def lane_streams(seed: int | None, num_lanes: int) -> NDArray[np.uint64]:
    """Return the start of each lane's random stream, ``uint64 (num_lanes,)``.

    A lane's stream depends on the seed and its index alone. Without a seed, fresh entropy is used.

    Raises:
        ValueError: for a seed that is not a non-negative whole number.
    """
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
        raise ValueError(f"seed must be a non-negative whole number or None, got {seed!r}")
    base = np.random.SeedSequence(None if seed is None else int(seed)).generate_state(2, np.uint64)
    base[1] >>= np.uint64(1)  # leaves room for the lane number
    rngs = np.empty(num_lanes, dtype=np.uint64)
    _fill_streams(base, rngs)
    return rngs


@kernel
def _lay_out(state: Any, rngs: Any, orders: Any, num_orders: Any, lane: int) -> None:
    state["deal_over"] = 0
    state["ply"] = 0
    state["last_action"] = -1
    state["last_mover"] = -1
    if state["deal"] % state["deals_per_order"] == 0:
        if state["shuffles"] >= num_orders[lane]:
            shuffle(rngs, lane, orders[lane, state["shuffles"]])
        state["shuffles"] += 1
    deal(state, orders[lane, state["shuffles"] - 1])


@kernel
def _go_on(state: Any, rngs: Any, orders: Any, num_orders: Any, lane: int) -> None:
    """After a finished deal, lay out the next ones until one asks for a decision or the episode is over."""
    while state["deal_over"]:
        if state["deal"] + 1 >= state["deals"]:
            state["over"] = 1
            return
        state["deal"] += 1
        # The opener alternates; with two deals to an order, so does the opener of the first of each (R8).
        if state["deal"] % state["deals_per_order"] != 0 or state["deals_per_order"] % 2 == 1:
            state["opener"] = 1 - state["opener"]
        _lay_out(state, rngs, orders, num_orders, lane)


@kernel
def start_episode(template: Any, states: Any, rngs: Any, orders: Any, num_orders: Any, lane: int, opener: int) -> bool:
    """Start an episode; an episode without any decision is drawn anew unless its orders are all given.

    Returns:
        False if the given orders leave no decision in the whole episode.
    """
    while True:
        states[lane] = template[0]
        state = states[lane]
        state["opener"] = random_below(rngs, lane, 2) if opener < 0 else opener
        _lay_out(state, rngs, orders, num_orders, lane)
        _go_on(state, rngs, orders, num_orders, lane)
        if not state["over"]:
            return True
        if num_orders[lane] >= state["shuffles"]:
            return False


@inlined_kernel
def _reward(state: Any, before: int, points_reward: bool) -> float:
    difference = np.float64(state["scores"][0] - state["scores"][1])
    if points_reward:
        return difference - before
    return np.sign(difference) if state["over"] else 0.0


@inlined_kernel
def play_episode_action(
    states: Any, rngs: Any, orders: Any, num_orders: Any, lane: int, action: int, points_reward: bool
) -> float:
    """Take a legal action and return seat 0's reward (seat 1's is its negative)."""
    state = states[lane]
    before = state["scores"][0] - state["scores"][1]
    state["last_action"] = action
    state["last_mover"] = state["mover"]
    state["ply"] += 1
    play(state, action)
    if not state["deal_over"]:
        return 0.0
    _go_on(state, rngs, orders, num_orders, lane)
    return _reward(state, before, points_reward)


@kernel
def end_deal(
    states: Any, rngs: Any, orders: Any, num_orders: Any, lane: int, winner: int, points: int, points_reward: bool
) -> float:
    """End the running deal for a reason outside the rules (a player's time is up), and return seat 0's reward."""
    state = states[lane]
    before = state["scores"][0] - state["scores"][1]
    finish_deal(state, winner, points)
    _go_on(state, rngs, orders, num_orders, lane)
    return _reward(state, before, points_reward)


@inlined_kernel
def write_mask(states: Any, lane: int, mask: Any, actions: Any) -> int:
    """Write the legal actions of a lane as an ``int8`` mask and as a list; all zero when the episode is over."""
    for action in range(len(mask)):  # a plain loop becomes a memset, a slice does not
        mask[action] = 0
    if states[lane]["over"]:
        return 0
    count = moves(states[lane], actions)
    for i in range(count):
        mask[actions[i]] = 1
    return count


@kernel
def look(states: Any, observation: Any, mask: Any, actions: Any) -> int:
    """Write what the mover of lane 0 sees: observation, mask, and the legal actions as a list ended by -1.

    Returns:
        ``mover + 2 * over + 4 * finished deals``, below 64.
    """
    state = states[0]
    actions[write_mask(states, 0, mask, actions)] = -1
    observe(state, state["mover"], observation)
    return int64(state["mover"]) + 2 * int64(state["over"]) + 4 * int64(state["finished"])


@kernel
def start_and_look(
    template: Any,
    states: Any,
    rngs: Any,
    orders: Any,
    num_orders: Any,
    opener: int,
    observation: Any,
    mask: Any,
    actions: Any,
) -> int:
    """Start an episode in lane 0; return -1 if the given orders hold no decision, else as :func:`look`."""
    if not start_episode(template, states, rngs, orders, num_orders, 0, opener):
        return -1
    return look(states, observation, mask, actions)


@kernel
def play_and_look(
    states: Any, rngs: Any, orders: Any, num_orders: Any, action: int, observation: Any, mask: Any, actions: Any
) -> int:
    """Take an action in lane 0 and look.

    Returns:
        -1, with nothing changed, if the action is not in the list of legal ones; else what :func:`look` returns plus 64
        times the action's code.
    """
    i = 0
    while actions[i] != action:
        if actions[i] < 0:
            return -1
        i += 1
    code = describe(states[0], action)
    play_episode_action(states, rngs, orders, num_orders, 0, action, False)
    return look(states, observation, mask, actions) + 64 * int64(code)


@kernel
def look_as(states: Any, lane: int, seat: int, observation: Any) -> None:
    """Write the observation of a seat."""
    observe(states[lane], seat, observation)


@kernel
def reveal_all(states: Any, lane: int, mover: Any, seen: Any, hidden: Any) -> None:
    """Write the full-information vector's parts: mover one-hot, seat 0's observation, what that hides."""
    state = states[lane]
    for seat in range(2):
        mover[seat] = state["over"] == 0 and state["mover"] == seat
    observe(state, 0, seen)
    reveal(state, hidden)
