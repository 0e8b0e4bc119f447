"""Opponents by name: the one place where a string becomes an agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..games import Game, as_game
from ..policies import SavedPolicy, is_policy_path
from .base import Agent, CallableAgent

__all__ = ["AGENT_KINDS", "AgentKind", "make_agent"]


@dataclass(frozen=True)
class AgentKind:
    """One kind of agent.

    Attributes:
        usage: how its name is written.
        help: one line for ``domino-envs agents``.
        target: ``"module:class"`` within this package, imported when first used; called as
            ``(game, argument, seed=, mode=)`` if the name takes an argument after the colon, else without it.
        takes_argument: whether something may follow a colon.
    """

    usage: str
    help: str
    target: str
    takes_argument: bool = False


AGENT_KINDS: dict[str, AgentKind] = {
    "random": AgentKind("random", "a uniformly random legal action", "random_agent:RandomAgent"),
    "greedy": AgentKind("greedy", "takes a win, denies one, else follows a rule of thumb", "greedy:GreedyAgent"),
    "search": AgentKind(
        "search:N, search:Nms or search:N+POLICY",
        "tree search, N simulations or milliseconds a move, guided by a policy if one is named",
        "search:SearchAgent",
        takes_argument=True,
    ),
    "uct": AgentKind(
        "uct:N or uct:Nms",
        "textbook UCT, rollouts alone: a yardstick weaker than search (not Third Level)",
        "search:PlainSearchAgent",
        takes_argument=True,
    ),
    "endgame": AgentKind(
        "endgame", "as greedy, and exactly towards the end (Domaster, Five Bridges)", "endgame:EndgameAgent"
    ),
    "perfect": AgentKind("perfect", "a best move, by exact solution (Mate)", "perfect:PerfectAgent"),
    "policy": AgentKind(
        "policy:NAME_OR_PATH", "a saved policy, through ONNX Runtime", "policy_agent:PolicyAgent", takes_argument=True
    ),
    "human": AgentKind("human", "asks in the terminal", "human:HumanAgent"),
}


def make_agent(
    spec: str | Path | Agent | SavedPolicy | Callable[..., Any],
    game: str | Game,
    *,
    seed: int | None = None,
    mode: str = "sample",
) -> Agent:
    """Return the agent that ``spec`` means.

    Args:
        spec: a name as ``domino-envs agents`` lists them, the path of a saved policy or a loaded one, a function
            ``(observation, action_mask) -> action``, or an agent (returned as it is).
        game: a name, or the table of the game to play.
        seed: decides the agent's random choices.
        mode: ``"sample"`` or ``"best"``.

    Raises:
        ValueError: for an unknown name or a malformed argument, an agent of another game, or a game that this kind
            cannot play.
    """
    game = as_game(game)
    if isinstance(spec, Agent):
        if spec.game is not game:
            raise ValueError(f"the agent {spec.name} plays {spec.game}, not {game}")
        return spec
    if isinstance(spec, Path):
        spec = f"policy:{spec}"
    if isinstance(spec, SavedPolicy):
        from .policy_agent import PolicyAgent

        return PolicyAgent(game, spec, seed=seed, mode=mode)
    if not isinstance(spec, str):
        if callable(spec):
            return CallableAgent(game, spec, seed=seed, mode=mode)
        raise ValueError(f"an opponent is a name, a path or a function, got {spec!r}")
    name, colon, argument = spec.partition(":")
    kind = AGENT_KINDS.get(name)
    if kind is None and is_policy_path(spec):
        # With a suffix it cannot be taken for the name of a shipped policy.
        argument = f"{spec}.json" if Path(f"{spec}.json").is_file() else spec
        kind, colon = AGENT_KINDS["policy"], ":"
    if kind is None:
        raise ValueError(
            f"unknown opponent {spec!r}, expected one of {', '.join(k.usage for k in AGENT_KINDS.values())}"
        )
    if bool(argument) != kind.takes_argument or bool(colon) != kind.takes_argument:
        raise ValueError(f"opponent {spec!r} is malformed, expected {kind.usage}")
    module, _, attribute = kind.target.partition(":")
    maker = getattr(import_module(f".{module}", __package__), attribute)
    agent: Agent = maker(game, argument, seed=seed, mode=mode) if argument else maker(game, seed=seed, mode=mode)
    return agent
