"""The compiled loops of a batch over its lanes.

``arrays`` is the tuple of a batch's arrays in the order of :data:`ARRAYS`; :mod:`domino_envs.batch` tells what they
hold. Nothing here checks lanes or actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import engine
from .bits import borrow, count_ones, index_of_one, random_below
from .games.kernels import observe
from .jit import inlined_kernel, kernel

__all__ = ["ARRAYS", "choose_legal", "end_lane", "first_illegal", "first_unordered", "see_as", "start_lanes",
           "step_lanes"]  # fmt: skip

#: ``template`` is the record that an episode starts from; ``credits`` holds points that an episode brought seat 0
#: before its first decision, until its first step pays them out.
ARRAYS = (
    "template",
    "states",
    "rngs",
    "orders",
    "num_orders",
    "credits",
    "observations",
    "action_masks",
    "movers",
    "rewards",
    "dones",
)


@inlined_kernel
def _borrowed(arrays: Any) -> Any:
    template, states, rngs, orders, num_orders, credits, observations, masks, movers, rewards, dones = arrays
    return (
        borrow(template),
        borrow(states),
        borrow(rngs),
        borrow(orders),
        borrow(num_orders),
        borrow(credits),
        borrow(observations),
        borrow(masks),
        borrow(movers),
        borrow(rewards),
        borrow(dones),
    )


@inlined_kernel
def _look(arrays: Any, lane: int, scratch: Any) -> None:
    _, states, _, _, _, _, observations, masks, movers, _, _ = arrays
    state = states[lane]
    movers[lane] = state["mover"]
    engine.write_mask(states, lane, masks[lane], scratch)
    observe(state, state["mover"], observations[lane])


@inlined_kernel
def _start(arrays: Any, lane: int, opener: int, points_reward: bool, scratch: Any) -> bool:
    template, states, rngs, orders, num_orders, credits, _, _, _, _, _ = arrays
    if not engine.start_episode(template, states, rngs, orders, num_orders, lane, opener):
        return False
    scores = states[lane]["scores"]  # not 0 if a game of Mate ended before its first decision (R7)
    credits[lane] = np.float32(scores[0] - scores[1]) if points_reward else np.float32(0)
    _look(arrays, lane, scratch)
    return True


@kernel
def start_lanes(arrays: Any, lanes: Any, openers: Any, points_reward: bool, scratch: Any) -> int:
    """Start episodes; return the number started before one whose given orders hold no decision."""
    lent = _borrowed(arrays)
    for i in range(len(lanes)):
        if not _start(lent, lanes[i], openers[i], points_reward, scratch):
            return i
    return len(lanes)


@kernel
def first_unordered(lanes: Any, num_lanes: int) -> int:
    """Return the index of the first lane that does not exist or does not come after the one before it; -1 for none."""
    previous = -1
    for i in range(len(lanes)):
        if lanes[i] <= previous or lanes[i] >= num_lanes:
            return i
        previous = lanes[i]
    return -1


@kernel
def first_illegal(lanes: Any, actions: Any, masks: Any) -> int:
    """Return the index of the first action that is out of range or illegal, -1 if all are legal."""
    masks = borrow(masks)
    for i in range(len(lanes)):
        action = actions[i]
        if action < 0 or action >= masks.shape[1] or masks[lanes[i], action] == 0:
            return i
    return -1


@inlined_kernel
def _finish(arrays: Any, lane: int, reward: float, points_reward: bool, auto_reset: bool, scratch: Any) -> None:
    """Book what a change of a lane brought, start it anew if its episode is over, and look at it."""
    _, states, _, _, num_orders, credits, _, _, _, rewards, dones = arrays
    reward += credits[lane]
    credits[lane] = 0
    rewards[lane, 0] = reward
    rewards[lane, 1] = -reward
    over = states[lane]["over"] != 0
    dones[lane] = over
    if over and auto_reset:
        num_orders[lane] = 0  # given orders are for one episode
        _start(arrays, lane, engine.LOT, points_reward, scratch)
    else:
        _look(arrays, lane, scratch)


@kernel
def step_lanes(arrays: Any, lanes: Any, actions: Any, points_reward: bool, auto_reset: bool, scratch: Any) -> None:
    """Take a legal action in each lane."""
    lent = _borrowed(arrays)
    _, states, rngs, orders, num_orders, _, _, _, _, _, _ = lent
    scratch = borrow(scratch)
    for i in range(len(lanes)):
        lane = lanes[i]
        reward = engine.play_episode_action(states, rngs, orders, num_orders, lane, actions[i], points_reward)
        _finish(lent, lane, reward, points_reward, auto_reset, scratch)


@kernel
def end_lane(
    arrays: Any, lane: int, winner: int, points: int, points_reward: bool, auto_reset: bool, scratch: Any
) -> None:
    """End a lane's running deal."""
    lent = _borrowed(arrays)
    _, states, rngs, orders, num_orders, _, _, _, _, _, _ = lent
    reward = engine.end_deal(states, rngs, orders, num_orders, lane, winner, points, points_reward)
    _finish(lent, lane, reward, points_reward, auto_reset, scratch)


@kernel
def choose_legal(lanes: Any, masks: Any, rngs: Any, actions: Any) -> None:
    """Draw a uniform legal action for each lane from its stream in ``rngs``; 0 where none is legal."""
    masks, rngs = borrow(masks), borrow(rngs)
    for i in range(len(lanes)):
        lane = lanes[i]
        count = count_ones(masks[lane])
        actions[i] = index_of_one(masks[lane], random_below(rngs, lane, count)) if count else 0


@kernel
def see_as(states: Any, lanes: Any, seats: Any, observations: Any) -> None:
    """Write what seat ``seats[i]`` of lane ``lanes[i]`` sees to row ``i``."""
    states, observations = borrow(states), borrow(observations)
    for i in range(len(lanes)):
        observe(states[lanes[i]], seats[i], observations[i])
