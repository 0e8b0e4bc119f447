"""Search: UCT over the compiled rules, as an opponent and as a function for training and analysis."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine import lane_streams
from ..games import Game
from ..games.kernels import play
from .base import Agent
from .tree import NODE, keep_subtree, new_node, simulate

__all__ = ["SearchAgent", "SearchResult", "SearchTree", "search"]

_MOST_NODES = 1 << 22
_MOST_AT_ONCE = 4096  # simulations between two looks at the clock, and at Ctrl-C
_TICK = 0.005  # seconds


@dataclass(frozen=True)
class Settings:
    """How a game is searched.

    Attributes:
        exploration: weight of exploration in the upper confidence bound.
        prior_weight: visits that the estimate of a new node (the skill ``assess``) counts for.
        scale: what a deal's points are divided by.
        limit: the most that a deal can bring, divided by the scale: a win that brings so much is the end of the search.
    """

    exploration: float = 0.7
    prior_weight: float = 1.0
    scale: float = 1.0
    limit: float = 1e6


#: Found by trial: matches at 1000 simulations.
_SETTINGS = {
    "domaster": Settings(exploration=0.5, prior_weight=40.0, limit=1.0),
    "five_bridges": Settings(exploration=0.5, prior_weight=40.0, limit=1.0),
    "mate": Settings(scale=60.0, limit=21 * 11 / 60),
}


class SearchResult(NamedTuple):
    """What a search found, for ``n`` positions of a game with ``actions`` actions.

    Attributes:
        visits: simulations that went through each action, ``int32 (n, actions)``; 0 for actions that are not legal,
            and for those proven worse than another.
        values: points of the running deal that the mover may expect after each action, ``float32 (n, actions)``,
            exact where proven; NaN where none was tried.
        root_values: the same for the position, ``float32 (n,)``.
        solved: whether that is proven, ``bool (n,)``.
    """

    visits: NDArray[np.int32]
    values: NDArray[np.float32]
    root_values: NDArray[np.float32]
    solved: NDArray[np.bool_]


class SearchTree:
    """A tree that grows from one position.

    Args:
        game: the game, one of perfect information.
        streams: random stream that the simulations draw from, ``uint64 (1,)``.
        settings: None for the game's own.
    """

    def __init__(self, game: Game, streams: NDArray[np.uint64], settings: Settings | None = None) -> None:
        self.game = game
        self.streams = streams
        self.settings = settings or _SETTINGS.get(game.name, Settings())
        self._root = np.zeros(1, dtype=game.dtype)
        self._scratch = np.zeros(2, dtype=game.dtype)
        self._actions = np.zeros(game.num_actions, dtype=np.int32)
        self._nodes = np.zeros(max(1024, 2 * game.num_actions), dtype=NODE)
        self._used = 0

    def start(self, state: NDArray[Any]) -> None:
        """Forget everything and start from a position, a record of shape ``(1,)``."""
        self._root = state.copy()
        new_node(self._nodes, 0, -1, -1, self.settings.limit)
        self._used = 1

    def advance(self, state: NDArray[Any]) -> bool:
        """Go on from a later position, keeping what the tree knows of it; start anew if it does not hold it.

        Returns:
            Whether the tree held the position.
        """
        steps = int(state["ply"][0]) - int(self._root["ply"][0])
        index = self._find(0, self._root, state, steps) if self._used and 0 <= steps <= 4 else -1
        if index < 0 or self._nodes[index]["first"] < 0:
            self.start(state)
            return False
        self._root = state.copy()
        if index > 0:
            other = np.empty_like(self._nodes)
            self._used = keep_subtree(self._nodes, index, other)
            self._nodes = other
        return True

    def _find(self, index: int, state: NDArray[Any], wanted: NDArray[Any], steps: int) -> int:
        """Return the node below ``index`` for a position some steps further, -1 if there is none."""
        if steps == 0:
            return index if state[0] == wanted[0] else -1
        node = self._nodes[index]
        for child in range(int(node["first"]), int(node["first"]) + int(node["count"])):
            action = int(self._nodes[child]["action"])
            if steps > 1 or action == wanted["last_action"][0]:
                after = state.copy()
                after["last_action"], after["last_mover"] = action, state["mover"]
                after["ply"] += 1
                play(after[0], action)
                found = self._find(child, after, wanted, steps - 1)
                if found >= 0:
                    return found
        return -1

    def run(self, simulations: int) -> bool:
        """Run simulations; return whether more would tell more."""
        left = simulations
        while left > 0 and not self.solved:
            grow = len(self._nodes) < _MOST_NODES
            done, self._used = simulate(
                self._nodes,
                self._used,
                self._root,
                self._scratch,
                self.streams,
                0,
                self._actions,
                min(left, _MOST_AT_ONCE),
                self.settings.exploration,
                self.settings.prior_weight,
                self.settings.scale,
                self.settings.limit,
                grow,
            )
            left -= done
            if done == 0 and not self.solved:
                self._nodes = np.concatenate([self._nodes, np.empty_like(self._nodes)])
        return not self.solved

    def run_for(self, seconds: float) -> None:
        """Run simulations until the time is up."""
        end = time.perf_counter() + seconds
        chunk = 32
        while True:
            start = time.perf_counter()
            if start >= end or not self.run(chunk):
                return
            took = time.perf_counter() - start
            tick = min(_TICK, (end - start - took) / 2)
            chunk = int(np.clip(chunk * tick / max(took, 1e-6), 16, _MOST_AT_ONCE))

    @property
    def solved(self) -> bool:
        """Whether the root's value is proven."""
        return bool(self._nodes["low"][0] == self._nodes["high"][0])

    def report(self, visits: NDArray[np.int32], values: NDArray[np.float32]) -> float:
        """Write visits and values by action, as in :class:`SearchResult`, and return the root's value."""
        root = self._nodes[0]
        sign = 1 - 2 * int(self._root["mover"][0])
        children = self._nodes[int(root["first"]) : int(root["first"]) + int(root["count"])]
        means = sign * children["total"] / np.maximum(children["visits"], 1)
        low, high = (children["low"], children["high"]) if sign > 0 else (-children["high"], -children["low"])
        proven = low == high
        secure = low.max()
        kept = (low >= secure) if self.solved else (high >= secure)
        counts = children["visits"] * kept
        if not counts.any():
            counts = kept.astype(np.int32)
        visits[children["action"]] = counts
        known = np.where(proven, low, np.where(children["visits"] > 0, means, np.nan))
        values[children["action"]] = self.settings.scale * known
        if self.solved:
            return float(self.settings.scale * secure)
        return float(self.settings.scale * sign * root["total"] / root["visits"])


def _check_positions(game: Game, states: NDArray[Any]) -> None:
    if not isinstance(states, np.ndarray) or states.dtype != game.dtype or states.ndim != 1:
        raise ValueError(f"states must be records of {game.name}, shape (n,), got {getattr(states, 'dtype', states)!r}")
    ended = np.flatnonzero(states["deal_over"])
    if len(ended):
        raise ValueError(f"states[{ended[0]}] has nothing to search: its deal is over")


def search(
    game: Game,
    states: NDArray[Any],
    *,
    simulations: int,
    seed: int | None = None,
    settings: Settings | None = None,
) -> SearchResult:
    """Search positions, one after the other, each in a tree of its own.

    Args:
        game: the game.
        states: records of shape ``(n,)``, each with its deal not over.
        simulations: for each position, at least 1; fewer are run where the position is solved before.
        seed: decides the random choices; those of a position depend on the seed and its index alone.
        settings: None for the game's own.

    Raises:
        ValueError: for records of another game, a finished deal, or a number of simulations below 1.
    """
    _check_positions(game, states)
    _check_simulations(simulations)
    count = len(states)
    result = SearchResult(
        np.zeros((count, game.num_actions), dtype=np.int32),
        np.full((count, game.num_actions), np.nan, dtype=np.float32),
        np.zeros(count, dtype=np.float32),
        np.zeros(count, dtype=np.bool_),
    )
    streams = lane_streams(seed, count)
    tree = SearchTree(game, streams[:1], settings)
    for row in range(count):
        tree.streams = streams[row : row + 1]
        tree.start(states[row : row + 1])
        tree.run(simulations)
        result.root_values[row] = tree.report(result.visits[row], result.values[row])
        result.solved[row] = tree.solved
    return result


def _check_simulations(simulations: Any) -> None:
    if isinstance(simulations, bool) or not isinstance(simulations, (int, np.integer)) or simulations < 1:
        raise ValueError(f"simulations must be a whole number of at least 1, got {simulations!r}")


class SearchAgent(Agent):
    """Searches before each move; ``"search:1000"`` means 1000 simulations, ``"search:50ms"`` 50 milliseconds.

    Mode ``"best"`` plays the move of most visits, ``"sample"`` draws in proportion to the visits; in neither a move
    that is proven worse than another. Asked for one position at a time, the agent keeps what its tree knows of the
    position when it comes to move again; what it finds then counts besides the new simulations.

    Raises:
        ValueError: for a budget that is neither a number of simulations nor one of milliseconds.
    """

    needs_states = True
    one_at_a_time = True

    def __init__(self, game: Game, budget: str, *, seed: int | None = None, mode: str = "sample") -> None:
        match = re.fullmatch(r"(\d+)(ms)?", budget)
        if not match or int(match[1]) < 1:
            raise ValueError(f"search needs a budget as in 'search:1000' or 'search:50ms', got {budget!r}")
        self.name = f"search:{budget}"
        self._simulations = 0 if match[2] else int(match[1])
        self._seconds = int(match[1]) / 1000
        super().__init__(game, seed=seed, mode=mode)

    def reseed(self, seed: int | None) -> None:
        """Start the random choices anew, and forget the tree."""
        super().reseed(seed)
        self._tree = SearchTree(self.game, lane_streams(seed, 1))

    def start_deal(self) -> None:
        """Forget the tree."""
        self._tree = SearchTree(self.game, self._tree.streams)

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Search each position and return the chosen action."""
        states = self.checked_states(states, len(action_masks))
        _check_positions(self.game, states)
        visits = np.zeros((len(states), self.game.num_actions), dtype=np.int32)
        values = np.zeros(self.game.num_actions, dtype=np.float32)
        for row in range(len(states)):
            if len(states) == 1:
                self._tree.advance(states)
            else:
                self._tree.start(states[row : row + 1])
            if action_masks[row].sum() == 1:  # forced
                visits[row] = action_masks[row]
                continue
            if self._simulations:
                self._tree.run(self._simulations)
            else:
                self._tree.run_for(self._seconds)
            self._tree.report(visits[row], values)
        return self.choose(visits)
