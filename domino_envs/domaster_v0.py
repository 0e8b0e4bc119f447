"""Domaster: five chains, all tiles open, and the eleventh tile of a chain wins.

| | |
| --- | --- |
| PettingZoo | `from domino_envs import domaster_v0` or `pettingzoo.make("aec", "domino_envs/domaster_v0")` |
| Gymnasium | `gymnasium.make("domino_envs/Domaster-v0")` |
| Agents | `player_0`, `player_1` |
| Actions | `Discrete(100)` |
| Observation | `int8 (661,)` and an action mask `int8 (100,)` |
| Hidden information | none |

```python
from domino_envs import domaster_v0

env = domaster_v0.env()
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

Invented by Andrzej Lewicki as a game of skill: all tiles are open, and nothing is left to chance after the deal. Tiles:
the double-nine set with its doubles, 55.

The *opener* draws one tile, which begins the first chain, lying with its low half to the left. Then the players draw
one tile each in turn, the opener first, until all are drawn, 27 each. A player lays them in three rows of nine in the
order drawn, and they stay so. Of each of the nine columns only the nearest tile may be played, which frees the one
behind it.

The opener moves first. A move plays one tile to a free end of a chain, touching halves alike, or as the first tile of a
new chain, of which there are five at most. A chain takes five tiles on either side of its first. Doubles are ordinary
tiles. Whoever lays the eleventh tile of a chain wins the deal. A match is five deals with alternating openers.

## Observation

A dict. `"action_mask"` is `int8 (100,)`: 1 for each legal action, all 0 for the agent that is not to move and once the
episode is over. `"observation"` is `int8 (661,)`, from the point of view of the agent that it belongs to;
`env.unwrapped.game.layout.decode(vector)` splits it into named arrays:

| components | field | shape | values | meaning |
| --- | --- | --- | --- | --- |
| 0–269 | `my_columns` | 9 × 3 × 10 | 0–2 | halves with each pip on my tiles by column; row 0 is playable |
| 270–539 | `their_columns` | 9 × 3 × 10 | 0–2 | the same for the opponent's tiles |
| 540–639 | `end_pips` | 5 × 2 × 10 | 0–1 | one-hot pip at each end (left, right) that still takes a tile |
| 640–649 | `end_grown` | 5 × 2 | 0–5 | tiles laid on that side of the chain's first |
| 650–654 | `chain_started` | 5 | 0–1 | 1 if the chain has its first tile |
| 655 | `passed` | – | 0–1 | 1 if the last action of this deal was a pass |
| 656 | `deal` | – | 0–4 | number of this deal in the episode |
| 657 | `deals_left` | – | 0–4 | deals still to come after this one |
| 658 | `opened` | – | 0–1 | 1 if I opened this deal |
| 659 | `my_deals` | – | 0–5 | deals that I have won |
| 660 | `their_deals` | – | 0–5 | deals that the opponent has won |

## Actions

`11 * column + slot` plays the nearest tile of that column (0–8). Slot `2 * chain + side` lays it to a chain (0–4), side
0 at the left and 1 at the right end; slot 10 begins a new chain, which takes the next free number. 99 passes, and is
legal only when nothing else is. Notation: `4:3-5 2R` (column 4, its tile 3-5, to chain 2 at the right; columns and
chains counted from 1), `4:3-5 new`, `pass`.

## Rewards and the end

With `reward="win"` (default) +1 for the agent that has won more deals at the end of the episode and −1 for the other, 0
for both if they have won as many. With `reward="points"` a deal is worth +1 and −1 when it ends, a drawn one 0. The
episode terminates with its last deal.

Uniformly random play of one deal: 38.8 moves (passes counted), the opener wins 46.2 %, the responder 46.8 %, and 7.0 %
are drawn.

## Arguments

| argument | values | meaning |
| --- | --- | --- |
| `episode` | `"match"`, `"deal"` | five deals, one deal |
| `reward` | `"win"`, `"points"` | see Rewards |
| `render_mode` | see `metadata["render_modes"]` | what `render()` does |

`env()` returns the environment in a wrapper that ends the episode on an illegal action: −1 for the agent that chose it,
+1 for the other, and `infos[agent]["illegal_action"]` holds its number. `raw_env()` returns it bare: an illegal action
is a `ValueError` that names it, and the position stays. An action outside of the action space, a step before `reset()`
and a step after the end are errors in both.

## Reset

`reset(seed=None, options=None)`. The seed decides shuffles and lots, of this episode and of those after it; without one
the generator goes on, so that two resets differ. Options:

- `"orders"`: the draw orders of the episode's shuffles, a list of up to five permutations of 0 … 54, one for each deal:
  the starter, then the tiles as they are drawn, opener first. Shuffles beyond the list come from the seed.
- `"opener"`: `"player_0"` or `"player_1"`; without it the opener of the first deal is drawn by lot.

A wrong option is a `ValueError` that says what is wrong.

## Info and state

`infos[agent]` holds `move` (the last move in notation, None at the start), `move_by` (who made it), `scores` (a dict by
agent) and `deal_results` (empty unless the last move finished a deal; then dicts of `deal`, `winner` and `points`).

`state()` is `int8 (663,)`: two components one-hot for the agent to move, then the observation of `player_0`; nothing is
hidden.

`clone()`, `copy.deepcopy`, `pickle` and `get_state()` / `set_state()` keep a position in mid-game, random generator
included.

## Against an opponent

The same game as a Gymnasium environment, one step being everything until it is your turn again
(`domino_envs.single.DominoSinglePlayerEnv`):

```python
import gymnasium
import domino_envs

env = gymnasium.make("domino_envs/Domaster-v0", opponent="random", seat="random")
observation, info = env.reset(seed=1)
terminated = False
while not terminated:
    action = env.action_space.sample(mask=info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)
```

## Readings

Where the source leaves something open:

- **R1** A player that can move must; a pass is for who cannot.
- **R2** Two passes in succession end the deal as a draw.
- **R3** All five deals are played. More deals won win the match; equally many make a draw.
- **R5** A player's tiles fill the farthest row first, from column 1 to column 9, then the middle row, then the nearest.
  So the tile laid last in a column is the playable one.

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
    return DominoEnv(get_game("domaster"), episode=episode, reward=reward, render_mode=render_mode)


def env(*, episode: str = "match", reward: str = "win", render_mode: str | None = None) -> GuardWrapper:
    """Return the wrapped environment: an illegal action ends the episode, -1 to +1."""
    return GuardWrapper(raw_env(episode=episode, reward=reward, render_mode=render_mode))
