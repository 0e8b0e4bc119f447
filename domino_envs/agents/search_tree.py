"""A search tree over a game of perfect information."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import Game
from ..games.domaster import STATE as DOMASTER_STATE
from ..games.kernels import play
from .endgame_position import tiles_on_table
from .endgame_solver import UNKNOWN, EndgameSolver
from .tree import NODE, keep_subtree, new_node, simulate

__all__ = ["SOLVED_FROM", "SearchTree", "Settings", "game_settings", "plain_settings"]

_MOST_NODES = 1 << 22
_MOST_AT_ONCE = 4096  # simulations between two looks at the clock, and at Ctrl-C
_TICK = 0.005  # seconds
_MOST_STEPS = 4  # actions between a root and the next one

# Endgames of Domaster are solved outright if that takes no longer than the search.
SOLVED_FROM = 24  # tiles on the table
_NODES_PER_SECOND = 500_000  # a quarter of the time
_MOST_SOLVER_NODES = 2_000_000
_SOLVER_TABLE = 1 << 18


@dataclass(frozen=True)
class Settings:
    """How a game is searched.

    Attributes:
        exploration: weight of exploration in the upper confidence bound.
        prior_weight: visits that the estimate of a new node (the skill ``assess``) counts for, above 0; with little
            each move is tried once before any is tried again.
        estimate_share: weight of that estimate in a leaf's result, from 0 to 1; the rest is a rollout's.
        widening: with hidden tiles, how many moves a node takes in: this times the root of its visits.
        scale: what a deal's points are divided by.
        limit: the most that a deal can bring, divided by the scale: a win that brings so much is the end of the search.
        solves_endgames: whether endgames of Domaster and Five Bridges are solved outright where that is affordable.
    """

    exploration: float = 0.7
    prior_weight: float = 1.0
    estimate_share: float = 0.0
    widening: float = 1.0
    scale: float = 1.0
    limit: float = 1e6
    solves_endgames: bool = True

    def __post_init__(self) -> None:
        """Check what the search divides by.

        Raises:
            ValueError: for a ``prior_weight`` or a ``scale`` that is not above 0.
        """
        for name in ("prior_weight", "scale"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)!r}")


#: Found by trial, in matches at 1000 simulations.
_SETTINGS = {
    "domaster": Settings(exploration=0.3, prior_weight=10.0, estimate_share=0.8, limit=1.0),
    "five_bridges": Settings(exploration=0.3, prior_weight=10.0, estimate_share=0.8, limit=1.0),
    "mate": Settings(exploration=1.4, scale=60.0, limit=21 * 11 / 60),
}


def game_settings(game: Game) -> Settings:
    """Return how a game is searched unless told otherwise."""
    return _SETTINGS.get(game.name, Settings())


def plain_settings(game: Game) -> Settings:
    """Return the settings of textbook UCT: rollouts alone, no estimates, no endgame solver."""
    own = game_settings(game)
    # A weight next to nothing: the estimate only orders the first visits.
    return Settings(prior_weight=1e-3, scale=own.scale, limit=own.limit, solves_endgames=False)


class SearchTree:
    """A tree that grows from one position.

    Args:
        game: the game, one of perfect information.
        streams: random stream that the simulations draw from, ``uint64 (1,)``.
        settings: None for the game's own.

    Attributes:
        solver_nodes: nodes of the endgame solver that take as long as a simulation.
    """

    solver_nodes = 5

    def __init__(self, game: Game, streams: NDArray[np.uint64], settings: Settings | None = None) -> None:
        self.game = game
        self.streams = streams
        self.settings = settings or game_settings(game)
        self._root = np.zeros(1, dtype=game.dtype)
        self._scratch = np.zeros(2, dtype=game.dtype)
        self._actions = np.zeros(game.num_actions, dtype=np.int32)
        self._nodes = np.zeros(max(1024, 2 * game.num_actions), dtype=NODE)
        self._used = 0
        solves = self.settings.solves_endgames and game.dtype == DOMASTER_STATE
        self._solver = EndgameSolver(_SOLVER_TABLE) if solves else None
        self._solver_tried = False

    def forget(self) -> None:
        """Forget the position."""
        self._used = 0

    def start(self, state: NDArray[Any]) -> None:
        """Forget everything and start from a position, a record of shape ``(1,)``."""
        self._root = state.copy()
        new_node(self._nodes, 0, -1, -1, self.settings.limit)
        self._used = 1
        self._solver_tried = False

    def advance(self, state: NDArray[Any], played: int | None = None) -> bool:
        """Go on from a later position, keeping what the tree knows of it; start anew if it does not hold it.

        Args:
            state: the position's record, shape ``(1,)``.
            played: the action taken at the root, if it is known.

        Returns:
            Whether the tree held the position.
        """
        steps = int(state["ply"][0]) - int(self._root["ply"][0])
        index = -1
        if self._used and 0 <= steps <= _MOST_STEPS:
            index = self._find(0, self._root, state, steps, played)
        if index < 0 or self._nodes[index]["first"] < 0:
            self.start(state)
            return False
        self._root = state.copy()
        self._solver_tried = False
        if index > 0:
            other = np.empty_like(self._nodes)
            self._used = keep_subtree(self._nodes, index, other)
            self._nodes = other
        return True

    def _find(self, index: int, state: NDArray[Any], wanted: NDArray[Any], steps: int, played: int | None) -> int:
        """Return the node below ``index`` for a position some steps further, -1 if there is none."""
        if steps == 0:
            return index if state[0] == wanted[0] else -1
        if steps == 1:
            played = int(wanted["last_action"][0])
        node = self._nodes[index]
        for child in range(int(node["first"]), int(node["first"]) + int(node["count"])):
            action = int(self._nodes[child]["action"])
            if played is None or action == played:
                after = state.copy()
                after["last_action"], after["last_mover"] = action, state["mover"]
                after["ply"] += 1
                play(after[0], action)
                found = self._find(child, after, wanted, steps - 1, None)
                if found >= 0:
                    return found
        return -1

    def run(self, simulations: int) -> None:
        """Run simulations, or fewer if the position is solved before."""
        total = int(self._nodes["visits"][0]) + simulations
        self._solve_end(self.solver_nodes * simulations)
        self._simulate(total - int(self._nodes["visits"][0]))

    def run_for(self, seconds: float) -> None:
        """Run simulations until the time is up or the position is solved."""
        end = time.perf_counter() + seconds
        self._solve_end(int(_NODES_PER_SECOND * seconds))
        chunk = 32
        while not self.solved:
            start = time.perf_counter()
            self._simulate(chunk)
            now = time.perf_counter()
            if now >= end:
                return
            tick = min(_TICK, (end - now) / 2)
            chunk = int(np.clip(chunk * tick / max(now - start, 1e-6), 16, _MOST_AT_ONCE))

    def _simulate(self, simulations: int) -> None:
        settings = self.settings
        left = simulations
        while left > 0 and not self.solved:
            done, self._used = simulate(
                self._nodes,
                self._used,
                self._root,
                self._scratch,
                self.streams,
                0,
                self._actions,
                min(left, _MOST_AT_ONCE),
                settings.exploration,
                settings.prior_weight,
                settings.estimate_share,
                settings.scale,
                settings.limit,
                len(self._nodes) < _MOST_NODES,
            )
            left -= done
            if done == 0 and not self.solved:
                self._make_room()

    def _make_room(self) -> None:
        """Double the array of nodes."""
        self._nodes = np.concatenate([self._nodes, np.empty_like(self._nodes)])

    def _solve_end(self, max_nodes: int) -> None:
        """Enter exact results below the root where that is affordable."""
        if self._solver is None or self._solver_tried or tiles_on_table(self._root[0]) < SOLVED_FROM:
            return
        self._solver_tried = True
        values = self._solver.values(self._root, min(max_nodes, _MOST_SOLVER_NODES))[0]
        self._simulate(1)  # expands the root
        root, children = self._nodes[0], self._children
        sign = 1 - 2 * int(self._root["mover"][0])
        found = values[children["action"]]
        known = found != UNKNOWN
        children["low"][known] = children["high"][known] = sign * found[known]
        best = np.max if sign > 0 else np.min
        root["low"], root["high"] = best(children["low"]), best(children["high"])

    @property
    def _children(self) -> NDArray[Any]:
        """The root's children."""
        first = int(self._nodes["first"][0])
        return self._nodes[first : first + int(self._nodes["count"][0])]

    @property
    def solved(self) -> bool:
        """Whether the root's value is proven."""
        return bool(self._nodes["low"][0] == self._nodes["high"][0])

    def report(self, visits: NDArray[np.int32], values: NDArray[np.float32]) -> float:
        """Write visits and values by action, as in :class:`SearchResult`, and return the root's value."""
        root, children = self._nodes[0], self._children
        sign = 1 - 2 * int(self._root["mover"][0])
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
