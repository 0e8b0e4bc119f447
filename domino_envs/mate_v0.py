"""Mate: a duel of attack and reply in which both know all tiles.

| | |
| --- | --- |
| PettingZoo | `from domino_envs import mate_v0` or `pettingzoo.make("aec", "domino_envs/mate_v0")` |
| Gymnasium | `gymnasium.make("domino_envs/Mate-v0")` |
| Agents | `player_0`, `player_1` |
| Actions | `Discrete(42)` |
| Observation | `int8 (120,)` and an action mask `int8 (42,)` |
| Hidden information | none: what a player does not hold, the other holds |

```python
from domino_envs import mate_v0

env = mate_v0.env()
env.reset(seed=1)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    if terminated or truncated:
        action = None
    else:
        action = env.action_space(agent).sample(mask=observation["action_mask"])  # your policy
    env.step(action)
```

## Rules

Invented by Andrzej Lewicki after a card game. Tiles: the double-six set without its doubles, 21. Each player is dealt
ten; the tile left over is turned up as the *starter*. So everybody knows where every tile is, and both hands are in the
observation.

The *opener* lays a tile to either half of the starter; touching halves must show the same pips. From then on the
players take turns, and each must answer the tile that the other has just laid, at its free half: the line grows one way
only. Who has no answer loses the game. The winner scores the number of tiles on the table times the pips of the last
one.

A *set* is two games on one draw: for the second the players exchange the hands that they were dealt, and the other one
opens, so that each plays both sides of the same deal. A *match* is two sets; more points over its four games win it.

## Observation

A dict. `"action_mask"` is `int8 (42,)`: 1 for each legal action, all 0 for the agent that is not to move and once the
episode is over. `"observation"` is `int8 (120,)`, from the point of view of the agent that it belongs to;
`env.unwrapped.game.layout.decode(vector)` splits it into named arrays:

| components | field | shape | values | meaning |
| --- | --- | --- | --- | --- |
| 0–20 | `my_hand` | 21 | 0–1 | tiles in my hand |
| 21–41 | `their_hand` | 21 | 0–1 | tiles in the opponent's hand |
| 42–62 | `my_played` | 21 | 0–1 | tiles that I have laid in this game |
| 63–83 | `their_played` | 21 | 0–1 | tiles that the opponent has laid in this game |
| 84–104 | `starter` | 21 | 0–1 | one-hot starter |
| 105–111 | `open_pips` | 7 | 0–1 | pips that may be touched: both of the starter's at the opening, else one |
| 112 | `table_count` | – | 1–21 | tiles on the table, the starter counted |
| 113 | `deal` | – | 0–3 | number of this game in the episode |
| 114 | `deals_left` | – | 0–3 | games still to come after this one |
| 115 | `opened` | – | 0–1 | 1 if I opened this game |
| 116 | `my_points_high` | – | 0–7 | my points in the episode so far, whole 128s |
| 117 | `my_points_low` | – | 0–127 | my points in the episode so far, the rest |
| 118 | `their_points_high` | – | 0–7 | the opponent's points, whole 128s |
| 119 | `their_points_low` | – | 0–127 | the opponent's points, the rest |

## Actions

`2 * tile + k`: lay the tile, `k = 0` with its low half touching, `k = 1` with its high half. Tiles are numbered from 0
in the order 0-1, 0-2, … 0-6, 1-2, … 5-6. In notation the touching half comes first: `5-3` is the tile 3-5 laid with its
5 touching.

## Rewards and the end

With `reward="win"` (default) +1 for the agent with more points at the end of the episode and −1 for the other, 0 for
both if they are equal. With `reward="points"` the winner of a game gets its points when it ends, and the other their
negative. The episode terminates with its last game.

Uniformly random play of one game: 9.9 tiles on the table at the end, the opener wins 45.1 %, the winner scores 59
points on average.

## Arguments

| argument | values | meaning |
| --- | --- | --- |
| `episode` | `"match"`, `"set"`, `"deal"` | two sets, one set, one game |
| `reward` | `"win"`, `"points"` | see Rewards |
| `render_mode` | see `metadata["render_modes"]` | what `render()` does |

`env()` returns the environment in a wrapper that ends the episode on an illegal action: −1 for the agent that chose it,
+1 for the other, and `infos[agent]["illegal_action"]` holds its number. `raw_env()` returns it bare: an illegal action
is a `ValueError` that names it, and the position stays. An action outside of the action space, a step before `reset()`
and a step after the end are errors in both.

## Reset

`reset(seed=None, options=None)`. The seed decides shuffles and lots, of this episode and of those after it; without one
the generator goes on, so that two resets differ. Options:

- `"orders"`: the draw orders of the episode's shuffles, a list of up to two permutations of 0 … 20, one for each set:
  the opener's ten tiles, the responder's ten, the starter. Shuffles beyond the list come from the seed.
- `"opener"`: `"player_0"` or `"player_1"`; without it the opener of the first deal is drawn by lot.

A wrong option is a `ValueError` that says what is wrong.

## Info and state

`infos[agent]` holds `move` (the last move in notation, None at the start), `move_by` (who made it), `scores` (a dict by
agent) and `deal_results` (empty unless the last move finished a deal; then dicts of `deal`, `winner` and `points`).

`state()` is `int8 (122,)`: two components one-hot for the agent to move, then the observation of `player_0`; nothing is
hidden.

`clone()`, `copy.deepcopy`, `pickle` and `get_state()` / `set_state()` keep a position in mid-game, random generator
included.

## Against an opponent

The same game as a Gymnasium environment, one step being everything until it is your turn again
(`domino_envs.single.DominoSinglePlayerEnv`):

```python
import gymnasium
import domino_envs

env = gymnasium.make("domino_envs/Mate-v0", opponent="random", seat="random")
observation, info = env.reset(seed=1)
terminated = False
while not terminated:
    action = env.action_space.sample(mask=info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)
```

## Readings

Where the source leaves something open:

- **R6** The starter counts among the tiles on the table.
- **R7** An opener that cannot play on the starter at all has lost; the other scores one tile times the pips of the
  starter. In one deal of 184,756 this is so, and then in both games of the set. An episode in which nobody would have
  anything to decide is drawn anew; if the given `orders` make one, that is a `ValueError`.
- **R8** Player A opens games 1 and 4, player B games 2 and 3: the second set begins with the player that did not begin
  the first.

## Version history

- v0: first version.
"""

from __future__ import annotations

from .aec import DominoEnv
from .games import get_game
from .guard import GuardWrapper

__all__ = ["env", "raw_env"]


def raw_env(*, episode: str = "match", reward: str = "win", render_mode: str | None = None) -> DominoEnv:
    """Return the environment without the wrapper: an illegal action is a ``ValueError``."""
    return DominoEnv(get_game("mate"), episode=episode, reward=reward, render_mode=render_mode)


def env(*, episode: str = "match", reward: str = "win", render_mode: str | None = None) -> GuardWrapper:
    """Return the wrapped environment: an illegal action ends the episode, -1 to +1."""
    return GuardWrapper(raw_env(episode=episode, reward=reward, render_mode=render_mode))
