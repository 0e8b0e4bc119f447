"""Other projects' board games, measured in the same way (the extra ``bench``, and PettingZoo's own)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .ours import play_aec
from .timing import rates

__all__ = ["PEERS", "peer_rates"]

_CHUNK = 100
_PGX_LANES = 1024
_PGX_STEPS = 16  # in one compiled call


def _pettingzoo(name: str, seconds: float, repeats: int) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the old way to make an environment
        env = import_module(f"pettingzoo.classic.{name}").env()
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    return rates(lambda: play_aec(env, rng), seconds, repeats)


def _openspiel(name: str, seconds: float, repeats: int) -> list[float]:
    import pyspiel

    if name.startswith("python_"):
        import_module("open_spiel.python.games")  # registers them
    game = pyspiel.load_game(name)
    rng = np.random.default_rng(0)
    state = game.new_initial_state()

    def work() -> int:
        nonlocal state
        done = 0
        while done < _CHUNK:
            if state.is_terminal():
                state = game.new_initial_state()
            elif state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(outcomes[int(np.searchsorted(np.cumsum(weights), rng.random()))])
            else:
                np.asarray(state.observation_tensor(), dtype=np.float32)
                legal = np.flatnonzero(state.legal_actions_mask())
                state.apply_action(int(legal[rng.integers(len(legal))]))
                done += 1
        return done

    return rates(work, seconds, repeats)


def _pgx(name: str, seconds: float, repeats: int) -> list[float]:
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    init, step = jax.vmap(env.init), jax.vmap(auto_reset(env.step, env.init))

    def one(carry: Any, _: Any) -> Any:
        state, key = carry
        key, choice, again = jax.random.split(key, 3)
        logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
        actions = jax.random.categorical(choice, logits, axis=-1)
        state = step(state, actions, jax.random.split(again, _PGX_LANES))
        return (state, key), state.observation.sum(dtype=jnp.float32)

    many = jax.jit(lambda carry: jax.lax.scan(one, carry, None, length=_PGX_STEPS))
    carry = (jax.jit(init)(jax.random.split(jax.random.PRNGKey(0), _PGX_LANES)), jax.random.PRNGKey(1))

    def work() -> int:
        nonlocal carry
        carry, seen = many(carry)
        seen.block_until_ready()
        return _PGX_STEPS * _PGX_LANES

    work()
    return rates(work, seconds, repeats)


#: By name as tables show it: the module that must be installed, what measures it, and its argument.
PEERS: dict[str, tuple[str, Callable[[str, float, int], list[float]], str]] = {
    "PettingZoo connect_four_v3": ("pettingzoo", _pettingzoo, "connect_four_v3"),
    "PettingZoo chess_v6": ("chess", _pettingzoo, "chess_v6"),
    "OpenSpiel python_block_dominoes": ("pyspiel", _openspiel, "python_block_dominoes"),
    "OpenSpiel connect_four": ("pyspiel", _openspiel, "connect_four"),
    "Pgx connect_four": ("pgx", _pgx, "connect_four"),
    "Pgx animal_shogi": ("pgx", _pgx, "animal_shogi"),
}


def peer_rates(peer: str, seconds: float, repeats: int) -> list[float]:
    """Decisions per second of a peer, by its key in :data:`PEERS`.

    Raises:
        ImportError: if it is not installed.
    """
    _, measure, name = PEERS[peer]
    return measure(name, seconds, repeats)
