"""Search: UCT over the compiled rules, as an opponent and as a function for training and analysis."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine import lane_streams
from ..games import Game, as_game
from ..games.kernels import aligned
from ..policies import PolicyError, SavedPolicy, load_policy
from .base import Agent
from .information_sets import InformationSetTree
from .policy_information_sets import PolicyInformationSetTree
from .policy_search import PolicyTree
from .search_tree import SearchTree, Settings, plain_settings

__all__ = ["PlainSearchAgent", "SearchAgent", "SearchResult", "Settings", "search"]


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


def _checked_positions(game: Game, states: NDArray[Any]) -> NDArray[Any]:
    if not isinstance(states, np.ndarray) or states.dtype != game.dtype or states.ndim != 1:
        raise ValueError(f"states must be records of {game.name}, shape (n,), got {getattr(states, 'dtype', states)!r}")
    ended = np.flatnonzero(states["deal_over"])
    if len(ended):
        raise ValueError(f"states[{ended[0]}] has nothing to search: its deal is over")
    return aligned(states, game.dtype)


def _make_tree(
    game: Game, streams: NDArray[np.uint64], settings: Settings | None = None, policy: SavedPolicy | None = None
) -> SearchTree:
    if policy is not None:
        points = float(policy.card.get("value_points", 1.0))
        tree = PolicyInformationSetTree if game.hidden.size else PolicyTree
        return tree(game, streams, policy.evaluate, points, settings)
    return (InformationSetTree if game.hidden.size else SearchTree)(game, streams, settings)


def search(
    game: str | Game,
    states: NDArray[Any],
    *,
    simulations: int,
    seed: int | None = None,
    settings: Settings | None = None,
    policy: str | Path | SavedPolicy | None = None,
) -> SearchResult:
    """Search positions, one after the other, each in a tree of its own.

    Args:
        game: a name, or the table of the game.
        states: records of shape ``(n,)``, each with its deal not over.
        simulations: for each position, at least 1; fewer are run where the position is solved before.
        seed: decides the random choices; those of a position depend on the seed and its index alone.
        settings: None for the game's own.
        policy: guides the search (PUCT): a saved policy, or its name or path; None for plain UCT.

    Raises:
        ValueError: for records of another game, a finished deal, or a number of simulations below 1.
        PolicyError: for a policy that cannot be loaded or plays another game.
    """
    game = as_game(game)
    guide = _load(policy, game)
    states = _checked_positions(game, states)
    _check_simulations(simulations)
    count = len(states)
    result = SearchResult(
        np.zeros((count, game.num_actions), dtype=np.int32),
        np.full((count, game.num_actions), np.nan, dtype=np.float32),
        np.zeros(count, dtype=np.float32),
        np.zeros(count, dtype=np.bool_),
    )
    streams = lane_streams(seed, count)
    tree = _make_tree(game, streams[:1], settings, guide)
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


def _load(policy: str | Path | SavedPolicy | None, game: Game) -> SavedPolicy | None:
    if policy is None:
        return None
    if isinstance(policy, SavedPolicy):
        if policy.game is not game:
            raise PolicyError(f"the policy {policy.name} plays {policy.game}, not {game}")
        return policy
    return load_policy(policy, game)


class SearchAgent(Agent):
    """Searches before each move; ``"search:1000"`` means 1000 simulations, ``"search:50ms"`` 50 milliseconds.

    ``"search:200+mate"`` lets a saved policy (a name or a path) guide the search and judge its leaves.

    Mode ``"best"`` plays the move of most visits, ``"sample"`` draws in proportion to the visits; in neither a move
    that is proven worse than another. Asked for one position at a time, the agent keeps what its tree knows of the
    position when it comes to move again; what it finds then counts besides the new simulations.

    Raises:
        ValueError: for a budget that is neither a number of simulations nor one of milliseconds.
    """

    needs_states = True
    one_at_a_time = True
    _settings: Settings | None = None  # the game's own
    _usage = "search needs a budget as in 'search:1000', 'search:50ms' or 'search:200+POLICY'"

    def __init__(self, game: Game, budget: str, *, seed: int | None = None, mode: str = "sample") -> None:
        match = re.fullmatch(r"(\d+)(ms)?(?:\+(?:policy:)?(.+))?", budget)
        if not match or int(match[1]) < 1:
            raise ValueError(f"{self._usage}, got {budget!r}")
        self.name = f"search:{budget}"
        self._policy = _load(match[3], game)
        self._simulations = 0 if match[2] else int(match[1])
        self._seconds = int(match[1]) / 1000
        super().__init__(game, seed=seed, mode=mode)

    def reseed(self, seed: int | None) -> None:
        """Start the random choices anew, and forget the tree."""
        super().reseed(seed)
        self._tree = _make_tree(self.game, lane_streams(seed, 1), self._settings, self._policy)
        self._played: int | None = None

    def start_deal(self) -> None:
        """Forget the tree."""
        self._tree.forget()

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Search each position and return the chosen action."""
        states = self.checked_states(states, len(action_masks))
        states = _checked_positions(self.game, states)
        visits = np.zeros((len(states), self.game.num_actions), dtype=np.int32)
        values = np.zeros(self.game.num_actions, dtype=np.float32)
        for row in range(len(states)):
            if len(states) == 1:
                self._tree.advance(states, self._played)
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
        actions = self.choose(visits)
        self._played = int(actions[0]) if len(actions) == 1 else None
        return actions


class PlainSearchAgent(SearchAgent):
    """UCT as textbooks have it, the field's yardstick; ``"uct:1000"`` means 1000 simulations, ``"uct:50ms"`` 50 ms.

    Each move is tried once before any is tried again, leaves are judged by rollouts alone, and no endgame is solved;
    all of which :class:`SearchAgent` does better. It plays games of perfect information.

    Raises:
        ValueError: for a game that hides tiles, or a budget that is neither a number of simulations nor one of
            milliseconds.
    """

    _usage = "uct needs a budget as in 'uct:1000' or 'uct:50ms'"

    def __init__(self, game: Game, budget: str, *, seed: int | None = None, mode: str = "sample") -> None:
        if game.hidden.size:
            raise ValueError(f"uct plays games of perfect information, and {game} hides tiles; search plays it")
        if "+" in budget:
            raise ValueError(f"{self._usage}, got {budget!r}; search takes a policy")
        self._settings = plain_settings(game)
        super().__init__(game, budget, seed=seed, mode=mode)
        self.name = f"uct:{budget}"
