"""Tests of the web server: what it answers, and what it refuses."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from starlette.testclient import TestClient

import domino_envs.play
from domino_envs.play.rules import RULES
from domino_envs.play.seal import Seal
from domino_envs.play.server import make_app
from domino_envs.play.service import Server

GAMES = ("domaster", "five_bridges", "mate", "third_level")
STATIC = Path(domino_envs.play.__file__).parent / "static"


def make_client() -> TestClient:
    names = map(str, itertools.count())
    server = Server(Seal(b"k" * 32), {name: ["random", "greedy"] for name in GAMES}, name_deal=lambda: next(names))
    return TestClient(make_app(server, {"game": "mate"}), base_url="http://127.0.0.1:8737")


@pytest.fixture
def client() -> Iterator[TestClient]:
    with make_client() as client:
        yield client


def post(client: TestClient, name: str, **data: Any) -> dict[str, Any]:
    answer = client.post(f"/api/{name}", json=data)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


def refused(client: TestClient, name: str, status: int, reason: str, **data: Any) -> None:
    answer = client.post(f"/api/{name}", json=data)
    assert answer.status_code == status, answer.text
    assert re.search(reason, answer.json()["error"]), answer.text


def new(client: TestClient, game: str = "mate", **settings: Any) -> dict[str, Any]:
    return post(client, "new", **{"game": game, "opponent": "random", "opener": "you", **settings})


def test_the_page_and_its_files_come_from_here_alone(client: TestClient) -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/app.js", "text/javascript"),
        ("/style.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
    ):
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert not re.search(r"https?://(?!www\.w3\.org/)", answer.text)
    assert client.get("/server.py").status_code == 404
    assert client.get("/..%2fserver.py").status_code == 404
    assert client.get("/api/move").status_code == 405


def test_the_wheel_would_have_every_file() -> None:
    assert {path.name for path in STATIC.iterdir()} == {"index.html", "app.js", "style.css", "icon.svg"}


def test_setup_says_what_can_be_played(client: TestClient) -> None:
    setup = client.get("/api/setup").json()
    assert [game["name"] for game in setup["games"]] == list(GAMES)
    assert setup["defaults"] == {"game": "mate"}
    for game in setup["games"]:
        assert game["opponents"] == ["random", "greedy"]
        assert game["rules"] == RULES[game["name"]]
    assert [bool(game["parameters"]) for game in setup["games"]] == [False, False, False, True]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("layout", ["wide", "tall"])
def test_a_whole_game_through_the_web(name: str, layout: str, client: TestClient) -> None:
    rng = np.random.default_rng(1)
    view = new(client, name, episode="deal", layout=layout, theme="dark")
    seen = {"you": 0, "opponent": 0}
    while view["turn"] != "over":
        root = ElementTree.fromstring(view["svg"])
        targets = {int(part.get("data-action", "")) for part in root.iter() if part.get("class") == "target"}
        labelled = {move["action"] for move in view["moves"] if move["label"]}
        assert targets | labelled == {move["action"] for move in view["moves"]}
        assert bool(view["moves"]) == (view["turn"] == "you")
        seen[view["turn"]] += 1
        count = len(view["history"])
        if view["turn"] == "you":
            move = view["moves"][rng.integers(len(view["moves"]))]
            view = post(client, "move", document=view["document"], action=move["action"], layout=layout)
            assert view["history"][-1] == {"by": "you", "move": move["move"], "deal": 1}
        else:
            view = post(client, "reply", document=view["document"], layout=layout)
            assert view["history"][-1]["by"] == "opponent"
        assert len(view["history"]) == count + 1
    assert seen["you"] and seen["opponent"]
    assert re.search(r"wins? the|is drawn", view["status"])


def test_a_hidden_hand_never_reaches_the_page(client: TestClient) -> None:
    """All that the page gets, pictures and hints included, is the same whatever the opponent holds."""
    view = new(client, "third_level", seat="player_0")
    answer = json.dumps({**view, "document": json.loads(view["document"])})
    data = json.loads(view["document"])
    server = Server(Seal(b"k" * 32), {"third_level": ["random"]})
    states = server.open(view["document"]).states
    theirs = [t for t in range(21) if int(states["hands"][0, 1]) >> t & 1]
    assert data["record"]["orders"] == []
    for tile in theirs:
        low, high = [(a, b) for a in range(7) for b in range(a + 1, 7)][tile]
        assert f"{low}-{high}" not in answer


def test_hints_tell_values_and_change_nothing(client: TestClient) -> None:
    view = new(client, seat="player_0")
    hinted = post(client, "hint", document=view["document"])
    assert hinted["document"] == view["document"]
    values = hinted["hint"]["values"]
    assert {entry["action"] for entry in values} == {move["action"] for move in view["moves"]}
    assert values[0]["action"] == hinted["hint"]["best"]
    assert [float(entry["value"]) for entry in values] == sorted((float(e["value"]) for e in values), reverse=True)
    assert f">{values[0]['value']}<" in hinted["svg"]
    searched = post(client, "hint", document=new(client, "five_bridges")["document"])
    assert "simulations" in searched["hint"]["source"]


def test_undo_and_looking_back(client: TestClient) -> None:
    start = new(client, seat="player_0")
    view = post(client, "move", document=start["document"], action=start["moves"][0]["action"])
    assert view["can_undo"] and not start["can_undo"]
    back = post(client, "view", document=view["document"], at=0)
    assert (back["number"], back["moves"], back["document"]) == (0, [], view["document"])
    undone = post(client, "undo", document=view["document"])
    assert undone["moves"] == start["moves"]
    assert undone["svg"] == start["svg"]
    refused(client, "view", 422, "at must be a number of moves from 0 to 1, got 2", document=view["document"], at=2)


def test_the_end_of_a_deal_is_shown_before_the_next(client: TestClient) -> None:
    view = new(client, episode="set", seat="player_0")
    while view["turn"] in ("you", "opponent"):
        name = "move" if view["turn"] == "you" else "reply"
        data = {"action": view["moves"][0]["action"]} if view["turn"] == "you" else {}
        view = post(client, name, document=view["document"], **data)
    assert view["turn"] == "wait"
    assert view["start"] == "Next game"
    assert re.search(r"wins? the game and scores? \d+\.", view["status"])
    assert ">wins<" in view["svg"]
    assert "game 1 of 2" in view["heading"]
    refused(client, "reply", 409, "the next deal has not been started", document=view["document"])
    view = post(client, "start", document=view["document"])
    assert view["turn"] in ("you", "opponent")
    assert ">wins<" not in view["svg"]
    assert "game 2 of 2" in view["heading"]


def test_clock(client: TestClient) -> None:
    view = new(client, clock="60+1", seat="player_0")
    assert (view["turn"], view["start"]) == ("wait", "Start the clock")
    assert view["clock"] == {"you": 60, "opponent": 60, "running": None}
    view = post(client, "start", document=view["document"])
    assert view["clock"]["running"] == "you"
    assert 55 < view["clock"]["you"] <= 60
    refused(client, "flag", 409, r"seconds left", document=view["document"])
    refused(client, "undo", 409, "against the clock", document=view["document"])
    short = post(client, "start", document=new(client, clock="0.001", episode="deal")["document"])
    refused(client, "move", 409, "your time is up", document=short["document"], action=short["moves"][0]["action"])
    lost = post(client, "flag", document=short["document"])
    assert lost["turn"] == "over"
    assert lost["status"] == "random wins the game and scores {}, on time.".format(
        re.findall(r"\d+", lost["status"])[0]
    )
    assert lost["history"] == [{"by": "you", "move": "out of time", "deal": 1}]


@pytest.mark.parametrize(
    ("name", "status", "reason", "data"),
    [
        ("move", 422, "a document must be text, got NoneType", {}),
        ("move", 422, "a document must be text, got dict", {"document": {}}),
        ("move", 422, "the document is no JSON", {"document": "{"}),
        ("move", 422, "this is no game in progress", {"document": "{}"}),
        ("move", 403, "not sealed by this server", {"document": '{"format": "domino_envs.play", "seal": 5}'}),
        ("view", 403, "not sealed by this server", {"document": '{"format": "domino_envs.play", "version": 1e999}'}),
        ("new", 422, "'game' is missing", {}),
        ("new", 422, "'opponent' is missing", {"game": "mate"}),
        ("new", 422, "unknown setting 'cheat'", {"game": "mate", "opponent": "random", "cheat": True}),
        ("new", 422, "opponent must be one of", {"game": "mate", "opponent": "policy:/tmp/x.json"}),
        ("new", 422, "theme must be one of", {"game": "mate", "opponent": "random", "theme": ["light"]}),
        ("new", 422, "layout must be one of", {"game": "mate", "opponent": "random", "layout": 5}),
        ("load", 422, "holds no game record", {"document": '{"moves": []}'}),
        ("nothing", 404, "there is no such request", {}),
    ],
)
def test_malformed_requests(name: str, status: int, reason: str, data: dict[str, Any], client: TestClient) -> None:
    refused(client, name, status, reason, **data)


def test_forged_and_late_requests_change_nothing(client: TestClient) -> None:
    view = new(client, seat="player_0")
    action = view["moves"][0]["action"]
    forged = json.loads(view["document"])
    forged["record"]["moves"] = [view["moves"][0]["move"]]
    refused(client, "reply", 403, "not sealed by this server", document=json.dumps(forged))
    refused(client, "reply", 409, "it is your turn", document=view["document"])
    after = post(client, "move", document=view["document"], action=action)
    refused(client, "move", 409, "it is not your turn", document=after["document"], action=action)
    # The same request again, as after a broken connection, gives the same answer.
    assert post(client, "move", document=view["document"], action=action) == after
    reply = post(client, "reply", document=after["document"])
    assert post(client, "reply", document=after["document"]) == reply
    refused(client, "move", 422, "is not legal here", document=view["document"], action=41 if action != 41 else 40)
    assert post(client, "view", document=view["document"])["moves"] == view["moves"]


def test_requests_that_are_no_json_objects(client: TestClient) -> None:
    def send(content: bytes, kind: str = "application/json") -> tuple[int, str]:
        answer = client.post("/api/new", content=content, headers={"content-type": kind})
        return answer.status_code, answer.json()["error"]

    assert send(b"{")[0] == 400
    assert send(b"\xff\xfe")[0] == 400
    assert send(b"[" * 100_000)[0] == 400
    assert send(b"[1]") == (400, "the request must be a JSON object")
    assert send(b'{"game": "mate"}', "text/plain") == (415, "the request must be application/json")
    assert send(b" " * (1 << 20))[0] == 413


def test_other_sites_are_turned_away(client: TestClient) -> None:
    body = {"game": "mate", "opponent": "random"}
    for headers in ({"host": "evil.example"}, {"host": "127.0.0.1.evil.example:8737"}, {"origin": "https://evil.example"},
                    {"origin": "null"}, {"origin": "http://127.0.0.1:9999"}):  # fmt: skip
        answer = client.post("/api/new", json=body, headers=headers)
        assert answer.status_code == 403, headers
        assert "pages of its own" in answer.json()["error"]
    assert client.get("/api/setup", headers={"host": "evil.example"}).status_code == 403
    own = {"host": "localhost:8737", "origin": "http://localhost:8737"}
    assert client.post("/api/new", json=body, headers=own).status_code == 200


def test_games_side_by_side_are_independent(client: TestClient) -> None:
    results: dict[int, str] = {}

    def play(number: int) -> None:
        game = GAMES[number % 4]
        rng = np.random.default_rng(number)
        view = new(client, game, episode="deal", opponent=("random", "greedy")[number // 4])
        while view["turn"] != "over":
            if view["turn"] == "you":
                move = view["moves"][rng.integers(len(view["moves"]))]
                view = post(client, "move", document=view["document"], action=move["action"])
            else:
                view = post(client, "reply", document=view["document"])
            assert view["game"] == game
        results[number] = view["status"]

    threads = [threading.Thread(target=play, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))


def test_random_garbage_never_breaks_the_server(client: TestClient) -> None:
    rng = np.random.default_rng(0)
    view = new(client, "third_level", seat="player_0")
    document = json.loads(view["document"])
    odd = [None, True, -1, 10**40, 1e308, "", "x" * 1000, [], {}, [[]], {"a": {}}, "player_0", "match"]

    def spoil(data: Any) -> Any:
        """Replace something somewhere."""
        if isinstance(data, dict) and data and rng.random() < 0.8:
            key = list(data)[rng.integers(len(data))]
            return {**data, key: spoil(data[key])}
        if isinstance(data, list) and data and rng.random() < 0.8:
            place = int(rng.integers(len(data)))
            return [*data[:place], spoil(data[place]), *data[place + 1 :]]
        return odd[rng.integers(len(odd))]

    for _ in range(100):
        spoiled = spoil(document)
        for name in ("load", "view"):
            answer = client.post(f"/api/{name}", json={"document": json.dumps(spoiled)})
            assert answer.status_code in (200, 403, 422), answer.text
        request = spoil({"document": view["document"], "action": 3, "theme": "dark", "layout": "wide", "at": None})
        answer = client.post("/api/move", json=request)
        assert 200 <= answer.status_code < 500, answer.text
        choices = {"episode": "deal", "seat": "random", "opener": "you", "clock": "60+1"}
        settings = spoil({"game": "mate", "opponent": "random", "parameters": {"a": 1}, **choices})
        answer = client.post("/api/new", json=settings)
        assert 200 <= answer.status_code < 500, answer.text
