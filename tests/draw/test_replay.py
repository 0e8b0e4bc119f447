"""Tests of replays, animations and ``domino-envs watch``."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageSequence

from domino_envs.aec import DominoEnv
from domino_envs.cli import main
from domino_envs.draw import Frame, draw_svg, frames_of_moves, frames_to_svg, save_animation
from domino_envs.draw.watch import play_frames
from domino_envs.games import get_game


def recorded(name: str, episode: str, seed: int) -> tuple[DominoEnv, list[str], list[np.ndarray[Any, Any]]]:
    """A random episode: the environment at its end, the moves, the positions between them."""
    env = DominoEnv(get_game(name), episode=episode)
    env.reset(seed=seed, options={"opener": "player_1"})
    rng = np.random.default_rng(seed)
    moves, positions = [], [env.position]
    while not env.terminations["player_0"]:
        env.step(int(rng.choice(env.game.legal_actions(env.position))))
        moves.append(env.infos["player_0"]["move"])
        positions.append(env.position)
    return env, moves, positions


@pytest.mark.parametrize(
    ("name", "episode"), [("domaster", "match"), ("five_bridges", "deal"), ("mate", "match"), ("third_level", "deal")]
)
def test_a_replay_runs_through_the_positions_of_the_game(name: str, episode: str) -> None:
    env, moves, positions = recorded(name, episode, 2)
    frames = frames_of_moves(env.game, env.orders, moves, episode=episode, opener="player_1")
    deals = env.game.num_deals(episode)
    assert len(frames) == len(moves) + deals  # a start for each deal
    assert [frame.move for frame in frames if frame.move] == moves
    ends = [frame for frame in frames if frame.states["deal_over"][0]]
    assert len(ends) == deals  # the last position of each deal is shown before the next is laid out
    played = [frame for frame in frames if not frame.states["deal_over"][0]]
    for frame in played:
        assert (frame.states == positions[frame.number]).all()
    assert ends[-1].states["scores"].tolist() == positions[-1]["scores"].tolist()
    for before, after in pairwise(frames):
        if after.move:
            assert after.seat == before.states["mover"][0]


def test_a_replay_names_the_wrong_move() -> None:
    env, moves, _ = recorded("mate", "deal", 2)
    with pytest.raises(ValueError, match=r"move 2 of 2, .*'6-6' is no legal move"):
        frames_of_moves(env.game, env.orders, [moves[0], "6-6"], episode="deal", opener="player_1")


def test_the_table_stays_in_place() -> None:
    env, moves, _ = recorded("third_level", "deal", 2)
    frames = frames_of_moves(env.game, env.orders, moves, episode="deal", opener="player_1")
    pictures = frames_to_svg(env.game, frames, seat=0)
    tiles = re.compile(r"<g><rect.*?</g>")
    for before, after in pairwise(pictures):
        # What lies on the ground goes on lying there; a lift takes one away, a move from the hand another, and a tile
        # drawn moves the others in the hand.
        assert len(set(tiles.findall(before)) - set(tiles.findall(after))) <= 6
    plain = [draw_svg(env.game, frame.states, seat=0, last=frame.move) for frame in frames]
    assert pictures != plain


@pytest.fixture(scope="module")
def pictures() -> list[str]:
    env, moves, _ = recorded("mate", "deal", 2)
    frames = frames_of_moves(env.game, env.orders, moves, episode="deal", opener="player_1")
    return frames_to_svg(env.game, frames)


def test_gif(pictures: list[str], tmp_path: Path) -> None:
    save_animation(tmp_path / "game.gif", pictures, [""] * len(pictures), delay=0.5, scale=0.5)
    with Image.open(tmp_path / "game.gif") as film:
        images = [(image.copy().convert("RGB"), image.info["duration"]) for image in ImageSequence.Iterator(film)]
    assert len(images) == len(pictures)
    assert {image.size for image, _ in images} == {(480, 218)}
    assert [time for _, time in images[:-1]] == [500] * (len(images) - 1)
    assert images[-1][1] > 500
    for (before, _), (after, _) in pairwise(images):
        assert before.tobytes() != after.tobytes()


def test_animated_svg(pictures: list[str], tmp_path: Path) -> None:
    save_animation(tmp_path / "game.svg", pictures, [""] * len(pictures), delay=0.5)
    root = ElementTree.parse(tmp_path / "game.svg").getroot()
    groups = [element for element in root if element.tag.endswith("}g")]
    assert len(groups) == len(pictures)
    assert [group.get("visibility") for group in groups] == ["hidden"] * (len(groups) - 1) + ["visible"]
    starts = []
    for group in groups:
        animate = group[0]
        assert animate.get("repeatCount") == "indefinite"
        values, times = (animate.get(key, "").split(";") for key in ("values", "keyTimes"))
        assert len(values) == len(times)
        starts.append(float(times[values.index("visible")]))
    assert starts[0] == 0
    assert all(before < after for before, after in pairwise(starts))


def test_page(pictures: list[str], tmp_path: Path) -> None:
    captions = [f"<b>{i}</b></script>" for i in range(len(pictures))]
    save_animation(tmp_path / "game.html", pictures, captions, title="Mate: <a> & b")
    page = (tmp_path / "game.html").read_text()
    assert "<title>Mate: &lt;a&gt; &amp; b</title>" in page
    assert page.count("</script>") == 1
    data = re.search(r"const frames = (.*);\n", page)
    assert data is not None
    assert json.loads(data[1]) == [list(pair) for pair in zip(pictures, captions, strict=True)]
    assert not re.search(r"""(src|href)=["']""", page)  # complete in itself


def test_wrong_animations(pictures: list[str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in .gif, .svg, .html, got '.*game.mp4'"):
        save_animation(tmp_path / "game.mp4", pictures, [""] * len(pictures))
    with pytest.raises(ValueError, match="delay must be positive, got 0"):
        save_animation(tmp_path / "game.gif", pictures, [""] * len(pictures), delay=0)
    with pytest.raises(ValueError, match="at least one picture"):
        save_animation(tmp_path / "game.gif", [], [])


def test_equal_seeds_play_equal_games() -> None:
    game = get_game("five_bridges")

    def moves(seed: int) -> list[str | None]:
        return [frame.move for frame in play_frames(game, ["random", "greedy"], episode="deal", seed=seed)]

    assert moves(1) == moves(1) != moves(2)
    last: Frame = list(play_frames(game, ["random", "random"], episode="deal", seed=1))[-1]
    assert last.states["over"][0]


def test_watch_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "mate", "random", "random", "--seed", "1", "--episode", "set"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Mate: random (0) (player_0) against random (1) (player_1)")
    assert "Game 2 of 2" in shown
    assert shown.rstrip().endswith("Over")
    assert main(["watch", "third_level", "random", "random", "--seed", "1", "--seat", "player_0"]) == 0
    assert "player_1: 3 hidden" in capsys.readouterr().out


def test_watch_saves_an_animation_and_a_window_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.gif"
    assert main(["watch", "mate", "random", "random", "--seed", "1", "--scale", "0.4", "--save", str(path)]) == 0
    assert re.fullmatch(r".*game.gif: \d+ pictures\n", capsys.readouterr().out)
    with Image.open(path) as film:
        assert getattr(film, "n_frames", 1) > 3
    assert main(["watch", "mate", "random", "random", "--seed", "1", "--delay", "0", "--window"]) == 0


def test_watch_a_recorded_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.jsonl"
    assert main(["arena", "mate", "random", "greedy", "--deals", "1", "--save", str(path)]) == 0
    capsys.readouterr()
    assert main(["watch", str(path), "--number", "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Mate: greedy (player_0) against random (player_1)")
    assert main(["watch", str(path), "--number", "3"]) == 2
    assert "--number must be from 1 to 2, got 3" in capsys.readouterr().err
    single = tmp_path / "game.json"
    single.write_text(path.read_text().splitlines()[1])
    assert main(["watch", str(single)]) == 0
    assert "Over" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess", "random", "random"], "unknown game 'chess'"),
        (["mate", "random"], "two agents are needed, got 1"),
        (["mate", "random", "nobody"], "unknown opponent 'nobody'"),
        (["mate", "random", "random", "--episode", "year"], "episode must be one of"),
        (["mate", "random", "random", "--save", "game.avi"], "must end in .gif, .svg, .html"),
        (["mate", "random", "random", "--delay", "-1"], "--delay must not be negative"),
        (["mate", "random", "random", "--seed", "-1"], "seed"),
        (["nothing.json"], "nothing.json: No such file"),
    ],
)
def test_watch_with_wrong_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", *arguments]) == 2
    assert message in capsys.readouterr().err
