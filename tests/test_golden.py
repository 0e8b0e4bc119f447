"""Complete games in notation, recorded with the reference rules, that must replay as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from domino_envs.games import SEATS
from playing import GAMES, face

FOLDER = Path(__file__).parent / "golden"
GOLDEN = [
    pytest.param(game, record, id=f"{game}: {record['about']}")
    for game in GAMES
    for record in json.loads((FOLDER / f"{game}.json").read_text(encoding="utf-8"))
]


def test_every_game_has_some() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(GAMES)


@pytest.mark.parametrize(("game", "record"), GOLDEN)
def test_replay(game: str, record: dict[str, Any]) -> None:
    env = face(game).env(episode=record["episode"])
    env.reset(options={"orders": record["orders"], "opener": record["opener"]})
    table = env.unwrapped.game
    results = list(env.infos["player_0"]["deal_results"])
    for move in record["moves"]:
        agent = env.agent_selection
        assert not env.terminations[agent]
        env.step(table.parse(env.unwrapped.position, move))
        assert (env.infos[agent]["move"], env.infos[agent]["move_by"]) == (move, agent)
        results += env.infos[agent]["deal_results"]
    assert env.terminations == dict.fromkeys(SEATS, True)
    assert [[result["winner"], result["points"]] for result in results] == record["results"]
    assert [env.infos["player_1"]["scores"][agent] for agent in SEATS] == record["scores"]
    difference = record["scores"][0] - record["scores"][1]
    won = (difference > 0) - (difference < 0)
    assert env.rewards == {"player_0": won, "player_1": -won}
