"""Third Level: a formation without repeated pips, tiles stacked on tiles, and a hidden hand.

| | |
| --- | --- |
| PettingZoo | `from domino_envs import third_level_v0` or `pettingzoo.make("aec", "domino_envs/third_level_v0")` |
| Gymnasium | `gymnasium.make("domino_envs/ThirdLevel-v0")` |
| Agents | `player_0`, `player_1` |
| Actions | `Discrete(7407)` |
| Observation | `int8 (2334,)` and an action mask `int8 (7407,)` |
| Hidden information | the opponent's hand and the order of the pool |

```python
from domino_envs import third_level_v0

env = third_level_v0.env()
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

Tiles: the double-six set without its doubles, 21. One lies on the table at the start; each player holds three, hidden
from the other; the rest is a hidden pool. The table is a square grid, and a tile covers two neighbouring cells.

A turn begins with a move, which must be made if there is one. It lays a tile from the hand

- on the ground: on two empty cells, touching the formation along an edge, so that no row and no column of the formation
  shows a pip value twice; or
- on an upper level: on two cells of equal height that show the two pips of the tile, each half on its equal. So what is
  seen from above never changes by this.

After each tile from the hand the player draws from the pool up to its hand size again, while the pool lasts.

A tile laid on the ground earns a *bonus*: the player may *lift* one other tile that lies uncovered onto a higher level
than its own, by the same rule of equal pips and equal heights, and not onto its own cells. From the ground a tile may
be lifted only if the formation stays in one piece. After a lift there may follow a *further move*, another tile from
the hand, on any level, with what follows from it: on the ground, another bonus. Bonus and further move can be declined;
a tile from the hand on an upper level ends the turn. So an agent may be asked several times in succession: follow
`agent_selection`.

Whoever brings a tile onto the third level, by lifting or from the hand, wins at once.

## Observation

A dict. `"action_mask"` is `int8 (7407,)`: 1 for each legal action, all 0 for the agent that is not to move and once the
episode is over. `"observation"` is `int8 (2334,)`, from the point of view of the agent that it belongs to;
`env.unwrapped.game.layout.decode(vector)` splits it into named arrays:

| components | field | shape | values | meaning |
| --- | --- | --- | --- | --- |
| 0–528 | `pips` | 23 × 23 | 0–7 | 1 + the pips that show in a cell of the window, 0 where it is empty |
| 529–1057 | `height` | 23 × 23 | 0–3 | tiles on top of each other in the cell |
| 1058–1586 | `ground_link` | 23 × 23 | 0–4 | side of the other half of its ground tile: 1 east, 2 south, 3 west, 4 north |
| 1587–2115 | `upper_link` | 23 × 23 | 0–4 | the same for the tile of the second level |
| 2116–2136 | `my_hand` | 21 | 0–1 | tiles in my hand |
| 2137–2157 | `unseen` | 21 | 0–1 | tiles neither on the table nor in my hand |
| 2158–2178 | `tile_level` | 21 | 0–3 | level on which the tile lies, 0 if not on the table |
| 2179–2199 | `tile_row` | 21 | 0–23 | 1 + window row of its low half, 0 if not on the table |
| 2200–2220 | `tile_column` | 21 | 0–23 | 1 + window column of its low half, 0 if not on the table |
| 2221–2241 | `tile_direction` | 21 | 0–4 | its high half from there: 1 east, 2 south, 3 west, 4 north |
| 2242–2262 | `liftable` | 21 | 0–1 | 1 if uncovered, and not needed to hold the ground together |
| 2263–2283 | `places_2` | 21 | 0–10 | places on the second level that would carry the tile |
| 2284–2304 | `places_3` | 21 | 0–10 | places on the third level that would carry the tile |
| 2305–2325 | `bonus_tile` | 21 | 0–1 | one-hot tile that earned the running bonus |
| 2326–2328 | `phase` | 3 | 0–1 | one-hot: move, bonus, further move |
| 2329 | `my_turn` | – | 0–1 | 1 if I am to move |
| 2330 | `their_hand_count` | – | 0–3 | tiles in the opponent's hand |
| 2331 | `pool_count` | – | 0–14 | tiles left in the pool |
| 2332 | `passed` | – | 0–1 | 1 if the last turn was a pass |
| 2333 | `opened` | – | 0–1 | 1 if I opened the game |

The vector never shows the opponent's tiles: `unseen` joins its hand and the pool.

## Actions

`(plane * board_size + row) * board_size + column`, row and column in the window (see below):

- Plane `4 * slot + d` lays a tile on the ground. `slot` is its place in the hand, sorted by tile number; its low half
  lies on the cell, its high half one cell away in direction `d`: 0 east, 1 south, 2 west, 3 north.
- Plane `4 * hand_size` (to the east) or `4 * hand_size + 1` (to the south) is a place on an upper level: the cell and
  the one beside it in that direction. The pips that show there say which tile it is, and the phase, whether it comes
  from the hand or is lifted.
- The last action ends the turn. It is legal in the bonus and in the further move, and only there.

Tiles are numbered from 0 in the order 0-1, 0-2, … 0-6, 1-2, … 5-6. Notation, with cells counted from the starter's low
half, rows downwards: `3-5@-1,2 S` (on the ground, low half in row −1 and column 2, high half to the south),
`3-5@-1,2 S^` (from the hand onto an upper level), `lift 3-5@-1,2 S`, `end`.

## The window

The table has no edge, but actions and observations need one. They see it through a window of `board_size` ×
`board_size` cells, in which the smallest rectangle around the formation is centred before each decision: its top row is
window row `(board_size - rows) // 2`, its left column `(board_size - columns) // 2`. A placement that does not fit in
is not offered; `infos[agent]["outside_window"]` counts those of the agent to move. With the default of 23 such
placements are very rare: random play outgrows 19 × 19, where they begin to be possible, in about one game of 20,000.

With `board_size=41` there are none at all, for the formation never spans more than 37 rows or columns. Say it spans *n*
columns. It is in one piece, so a shortest way of cells leads from its first column to its last. The way enters a new
column at least *n* − 1 times; let it also take *v* steps up or down. It has at least *n* + *v* cells, and there are no
more than 2 · 21 = 42, hence *n* ≤ 42 − *v*. The *v* steps cut it into *v* + 1 stretches, each within one row. A row
shows no pip twice, so it has at most seven cells, hence *n* + *v* ≤ 7 (*v* + 1), or *n* ≤ 6 *v* + 7. Up to *v* = 5 the
second bound gives 37 or less, from *v* = 5 on the first one does. Rows go likewise. A new tile touches the formation
and reaches at most two cells beyond it, and a window of 41 leaves two cells free on each side of 37.

## Rewards and the end

+1 for the winner and −1 for the other, 0 for both in a draw, once, when the game ends; `reward="points"` comes to the
same, since a game is worth one point.

Uniformly random play with three tiles in hand: 27.5 decisions a game; each player wins 5.4 %, 89.2 % are drawn.

## Arguments

| argument | values | meaning |
| --- | --- | --- |
| `episode` | `"match"`, `"deal"` | both one game |
| `hand_size` | 1–10, default 3 | tiles in a hand |
| `board_size` | 7–41, default 23 | rows and columns of the window |
| `reward` | `"win"`, `"points"` | see Rewards |
| `render_mode` | see `metadata["render_modes"]` | what `render()` does |

`env()` returns the environment in a wrapper that ends the episode on an illegal action: −1 for the agent that chose it,
+1 for the other, and `infos[agent]["illegal_action"]` holds its number. `raw_env()` returns it bare: an illegal action
is a `ValueError` that names it, and the position stays. An action outside of the action space, a step before `reset()`
and a step after the end are errors in both.

## Reset

`reset(seed=None, options=None)`. The seed decides shuffles and lots, of this episode and of those after it; without one
the generator goes on, so that two resets differ. Options:

- `"orders"`: the draw orders of the episode's shuffles, a list of one permutation of 0 … 20: the starter, the hands
  (opener, responder, opener, … until both are full), then the pool. Shuffles beyond the list come from the seed.
- `"opener"`: `"player_0"` or `"player_1"`; without it the opener of the first deal is drawn by lot.

A wrong option is a `ValueError` that says what is wrong.

## Info and state

`infos[agent]` holds `move` (the last move in notation, None at the start), `move_by` (who made it), `scores` (a dict by
agent) and `deal_results` (empty unless the last move finished a deal; then dicts of `deal`, `winner` and `points`); for
the agent to move also `outside_window`, see above.

`state()` is `int8 (2377,)` with the default arguments: two components one-hot for the agent to move, the observation of
`player_0`, the hand of `player_1`, and the pool in draw order.

`clone()`, `copy.deepcopy`, `pickle` and `get_state()` / `set_state()` keep a position in mid-game, random generator
included.

## Against an opponent

The same game as a Gymnasium environment, one step being everything until it is your turn again
(`domino_envs.single.DominoSinglePlayerEnv`):

```python
import gymnasium
import domino_envs

env = gymnasium.make("domino_envs/ThirdLevel-v0", opponent="random", seat="random")
observation, info = env.reset(seed=1)
terminated = False
while not terminated:
    action = env.action_space.sample(mask=info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)
```

## Readings

Where the source leaves something open:

- **R9** Rows and columns are taken across the whole formation; a gap in them does not divide them.
- **R10** On an upper level each half lies on a half with as many pips, and both cells are equally high. The tile may
  bridge two others.
- **R11** The tile that earned a bonus cannot be lifted for it; only what lay on the table before can.
- **R12** One bonus, one lift: for another, another tile must be laid on the ground.
- **R13** Who cannot move at the start of a turn passes. When both pass in succession, the game is drawn.

Where there is nothing to choose, nobody is asked: passes are automatic, a bonus with nothing to lift ends the turn, and
so does a further move with nothing to lay.

## Version history

- v0: first version.
"""  # noqa: E501  # one row of the table

from __future__ import annotations

from .aec import DominoEnv
from .games import get_game
from .guard import GuardWrapper

__all__ = ["env", "raw_env"]


def raw_env(
    *,
    episode: str = "match",
    reward: str = "win",
    render_mode: str | None = None,
    hand_size: int = 3,
    board_size: int = 23,
) -> DominoEnv:
    """Return the environment without the wrapper: an illegal action is a ``ValueError``."""
    game = get_game("third_level", {"hand_size": hand_size, "board_size": board_size})
    return DominoEnv(game, episode=episode, reward=reward, render_mode=render_mode)


def env(
    *,
    episode: str = "match",
    reward: str = "win",
    render_mode: str | None = None,
    hand_size: int = 3,
    board_size: int = 23,
) -> GuardWrapper:
    """Return the wrapped environment: an illegal action ends the episode, -1 to +1."""
    return GuardWrapper(
        raw_env(episode=episode, reward=reward, render_mode=render_mode, hand_size=hand_size, board_size=board_size)
    )
