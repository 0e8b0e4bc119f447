"""Tests of the drawings: what is on them, what must not be, and where the moves lie."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from math import hypot
from xml.etree import ElementTree

import numpy as np
import pytest

from domino_envs.aec import DominoEnv
from domino_envs.draw import draw_svg, last_tile
from domino_envs.draw.drawing import finish, make_scene
from domino_envs.draw.scene import value_text
from domino_envs.draw.svg import Canvas
from domino_envs.draw.theme import DARK, LIGHT
from domino_envs.draw.third_level import extent
from domino_envs.draw.tile import draw_tile
from domino_envs.games import game_names, get_game

SVG = "{http://www.w3.org/2000/svg}"
GAMES = ("domaster", "five_bridges", "mate", "third_level")


def random_game(name: str, seed: int) -> Iterator[DominoEnv]:
    """The positions of one random episode, the final one too."""
    env = DominoEnv(get_game(name), episode="deal")
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    yield env
    while not env.terminations["player_0"]:
        env.step(int(rng.choice(env.game.legal_actions(env.position))))
        yield env


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def dots(markup: str) -> int:
    return sum(path.count("h0") for path in re.findall(r'<path d="([^"]*)"', markup))


@pytest.mark.parametrize("upright", [False, True])
@pytest.mark.parametrize("pips", range(10))
def test_a_tile_shows_its_pips(pips: int, upright: bool) -> None:
    canvas = Canvas()
    draw_tile(canvas, 0, 0, 30, pips, 9 - pips, LIGHT, upright=upright)
    drawn = {}
    for path, color in re.findall(r'<path d="([^"]*h0)" stroke="(#\w+)"', "".join(canvas.parts)):
        drawn[color] = path
    for value, first in ((pips, True), (9 - pips, False)):
        path = drawn.get(LIGHT.pips[value], "")
        assert path.count("h0") == value
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", path):
            along, across = (float(y), float(x)) if upright else (float(x), float(y))
            assert (0 < along < 30) if first else (30 < along < 60)
            assert 0 < across < 30


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("layout", ["wide", "tall"])
def test_every_position_of_a_game_can_be_drawn(name: str, layout: str) -> None:
    sizes = set()
    for env in random_game(name, 3):
        svg = draw_svg(env.game, env.position, layout=layout, last=env.infos["player_0"]["move"], legal=True)
        root = ElementTree.fromstring(svg)
        sizes.add((root.get("width"), root.get("height")))
        assert {"player_0", "player_1"} <= set(texts(svg))
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        for rect in root.iter(f"{SVG}rect"):  # nothing lies outside of the picture
            if rect.get("x"):
                assert (
                    -1 <= float(rect.get("x", 0)) <= float(rect.get("x", 0)) + float(rect.get("width", 0)) <= width + 1
                )
                assert (
                    -1
                    <= float(rect.get("y", 0))
                    <= float(rect.get("y", 0)) + float(rect.get("height", 0))
                    <= height + 1
                )
    assert len(sizes) == 1  # so that frames make a film


@pytest.mark.parametrize("name", ["domaster", "five_bridges", "mate"])
def test_open_games_show_every_pip(name: str) -> None:
    game = get_game(name)
    for env in random_game(name, 5):
        markup = draw_svg(game, env.position)
        # A domino set holds each pip value equally often: 9 * 55 pips in the double-nine set, 6 * 21 in the other.
        every = 495 if game.num_tiles == 55 else 126
        assert dots(markup) == every


@pytest.mark.parametrize("name", GAMES)
def test_the_last_tile_is_marked(name: str) -> None:
    envs = random_game(name, 7)
    env = next(envs)
    assert LIGHT.last not in draw_svg(env.game, env.position, last=None)
    env = next(envs)
    move = env.infos["player_0"]["move"]
    assert draw_svg(env.game, env.position, last=move).count(f'fill="{LIGHT.last}"') == 1


@pytest.mark.parametrize(
    ("name", "move", "tile"),
    [
        ("domaster", "4:3-5 2R", 29),
        ("domaster", "4:0-0 new", 0),
        ("domaster", "pass", -1),
        ("mate", "5-3", 16),
        ("third_level", "3-5@-1,2 S", 16),
        ("third_level", "lift 0-1@-1,-2 S", 0),
        ("third_level", "5-6@2-3,1 E^", 20),
        ("third_level", "end", -1),
        ("mate", None, -1),
    ],
)
def test_last_tile(name: str, move: str | None, tile: int) -> None:
    assert last_tile(get_game(name), move) == tile


@pytest.mark.parametrize("name", GAMES)
def test_each_legal_move_can_be_clicked(name: str) -> None:
    for env in random_game(name, 11):
        game = env.game
        scene = make_scene(game, env.position, with_moves=True)
        scene.make_clickable()
        root = ElementTree.fromstring(finish(scene, fixed_size=False))
        targets = {int(g.get("data-action", "")): g for g in root.iter(f"{SVG}g") if g.get("class") == "target"}
        sources = {g.get("data-source") for g in root.iter(f"{SVG}g") if g.get("class") == "source"}
        legal = [] if env.terminations["player_0"] else game.legal_actions(env.position).tolist()
        assert set(targets) == {a for a in legal if game.notation(env.position, a) not in ("pass", "end")}
        assert {target.get("data-source") for target in targets.values()} == sources
        for action, target in targets.items():
            assert target.get("aria-label") == game.notation(env.position, action)
        # One tile, turned one way: no two of its places have the same spot.
        spots = [(p.source, p.turn, p.zone) for p in scene.placements]
        assert len(set(spots)) == len(spots)


def area_of(target: ElementTree.Element) -> list[tuple[float, float]]:
    """Return the corners, in order, of what is clicked for a target."""
    area = target[0]
    if area.tag == f"{SVG}rect":
        x, y, width, height = (float(area.get(name, "")) for name in ("x", "y", "width", "height"))
        return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    return [tuple(map(float, corner.split())) for corner in area.get("d", "").strip("MZ").split("L")]  # type: ignore[misc]


def depth_in(area: list[tuple[float, float]], x: float, y: float) -> float:
    """Return how many pixels deep a point lies in a convex area, less than 0 outside."""
    sides = zip(area, area[1:] + area[:1], strict=True)
    return min(((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / hypot(bx - ax, by - ay) for (ax, ay), (bx, by) in sides)


@pytest.mark.parametrize("name", GAMES)
def test_what_is_clicked_is_one_place_alone(name: str) -> None:
    several = 0
    for seed in range(10 if name == "third_level" else 2):
        for env in random_game(name, seed):
            scene = make_scene(env.game, env.position, with_moves=True)
            scene.make_clickable()
            root = ElementTree.fromstring(finish(scene, fixed_size=False))
            lit: dict[tuple[str | None, str | None], list[list[tuple[float, float]]]] = {}
            for g in root.iter(f"{SVG}g"):
                if g.get("class") == "target":
                    lit.setdefault((g.get("data-source"), g.get("data-turn")), []).append(area_of(g))
            for areas in lit.values():
                several += len(areas) > 1
                for area in areas:
                    xs, ys = zip(*area, strict=True)
                    middle = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
                    assert depth_in(area, *middle) > 5
                    assert all(other is area or depth_in(other, *middle) < -5 for other in areas)
    assert several > 10 or name == "mate"  # where every tile has one place


@pytest.mark.parametrize("name", ["domaster", "five_bridges", "third_level"])
def test_a_tile_comes_to_lie_where_the_move_showed_it(name: str) -> None:
    tiles = 0
    for seed in range(3):
        envs = list(map(DominoEnv.clone, random_game(name, seed)))
        kept = extent([env.position for env in envs]) if name == "third_level" else None
        for before, after in pairwise(envs):
            action = int(after.position["last_action"][0])
            scene = make_scene(before.game, before.position, with_moves=True, extent=kept)
            for p in scene.placements:
                if p.action == action:
                    canvas = Canvas()
                    x, half = (p.x + 0.5, p.half - 0.5) if name == "third_level" else (p.x, p.half)
                    draw_tile(canvas, x, p.y, half, p.first, p.second, LIGHT, upright=p.upright, level=p.level)
                    drawn = "".join(make_scene(after.game, after.position, extent=kept).canvas.parts)
                    assert "".join(canvas.parts) in drawn
                    tiles += 1
    assert tiles > 30


def test_mate_touches_half_by_half_in_two_rows() -> None:
    for seed in range(20):
        for env in random_game("mate", seed):
            state = env.position[0]
            scene = make_scene(env.game, env.position, with_moves=True)
            if state["count"] < 2 or state["over"]:
                continue
            ((x, y),) = {(p.x, p.y) for p in scene.placements}
            half = scene.placements[0].half
            last = "".join(scene.canvas.parts)
            # The tile laid last: its free half is straight above or below the touching half of the next.
            canvas = Canvas()
            action = int(state["line"][state["count"] - 2])
            low, high = env.game.notation(env.position, action).split("-")
            other_y = y - half - 2 if state["mover"] == 0 else y + half + 2  # 2 for the edge below a tile
            draw_tile(canvas, x - half, other_y, half, int(low), int(high), LIGHT)
            assert "".join(canvas.parts) in last
            assert all(p.first == state["open_pip"] for p in scene.placements)
            assert (y > scene.height / 2 - half / 2) == (state["mover"] == 0)  # in the row nearer to the mover


def test_hidden_tiles_leave_no_trace_in_the_picture() -> None:
    """Exchange what seat 1 cannot know: its picture must stay the same, targets included."""
    checked = 0
    for env in random_game("third_level", 4):
        states = env.position
        state = states[0]
        drawn = int(state["pool_next"])
        theirs = [t for t in range(21) if int(state["hands"][0]) >> t & 1]
        pool = state["pool"][drawn : state["pool_size"]].tolist()
        unseen = theirs + pool
        if len(unseen) < 2:
            break
        shuffled = unseen[1:] + unseen[:1]
        other = states.copy()
        other[0]["hands"][0] = sum(1 << t for t in shuffled[: len(theirs)])
        other[0]["pool"][drawn : state["pool_size"]] = shuffled[len(theirs) :]
        last = env.infos["player_0"]["move"]
        for legal in (False, True):
            seen = draw_svg(env.game, states, seat=1, last=last, legal=legal)
            assert seen == draw_svg(env.game, other, seat=1, last=last, legal=legal)
        if set(theirs) != set(shuffled[: len(theirs)]):
            assert draw_svg(env.game, states) != draw_svg(env.game, other)
            checked += 1
    assert checked > 5


@pytest.mark.parametrize("name", GAMES)
def test_values_are_written_to_the_moves(name: str) -> None:
    env = next(random_game(name, 1))
    legal = env.game.legal_actions(env.position).tolist()
    values = {action: i / len(legal) for i, action in enumerate(legal)}
    svg = draw_svg(env.game, env.position, values=values, value_format="{:.0%}")
    best = f"{(len(legal) - 1) / len(legal):.0%}"
    assert texts(svg).count(best) >= 2  # at the tile and at the place
    assert not any("%" in text for text in texts(draw_svg(env.game, env.position, legal=True)))


def test_values_of_moves_without_a_place() -> None:
    for env in random_game("third_level", 2):
        legal = env.game.legal_actions(env.position).tolist()
        if env.position["phase"][0] and len(legal) > 1:
            assert "end +0.50" in texts(draw_svg(env.game, env.position, values={legal[-1]: 0.5, legal[0]: -1.0}))
            return
    pytest.fail("no bonus in the game")


def test_themes_and_seats() -> None:
    env = next(random_game("mate", 1))
    light, dark = (draw_svg(env.game, env.position, theme=theme) for theme in ("light", "dark"))
    assert LIGHT.board in light and DARK.board not in light
    assert DARK.board in dark and LIGHT.board not in dark
    named = texts(draw_svg(env.game, env.position, seat=1, names=("Ann & <Bo>", "You")))
    assert named.index("Ann & <Bo>") < named.index("You")  # seat 1 at the bottom, drawn last


def test_wrong_arguments() -> None:
    env = next(random_game("mate", 1))
    game, states = env.game, env.position
    illegal = next(a for a in range(42) if a not in game.legal_actions(states))
    with pytest.raises(ValueError, match="theme must be one of 'light', 'dark', got 'blue'"):
        draw_svg(game, states, theme="blue")
    with pytest.raises(ValueError, match="layout must be one of 'wide', 'tall', got 'flat'"):
        draw_svg(game, states, layout="flat")
    with pytest.raises(ValueError, match="seat must be 0, 1 or None, got 2"):
        draw_svg(game, states, seat=2)
    with pytest.raises(ValueError, match=f"values has action {illegal}, which is not legal"):
        draw_svg(game, states, values={illegal: 1.0})
    with pytest.raises(ValueError, match="expected one position of Domaster"):
        draw_svg(get_game("domaster"), states)


def test_every_game_has_a_drawing() -> None:
    assert set(GAMES) <= set(game_names())
    for name in GAMES:
        env = next(random_game(name, 1))
        assert "<circle" in draw_svg(env.game, env.position)  # the plain text has none


@pytest.mark.parametrize(
    ("value", "text"), [(0.314, "+0.31"), (-0.002, "0.00"), (0.0, "0.00"), (-1.0, "-1.00"), (-0.1, "-0.10")]
)
def test_a_value_that_rounds_to_zero_has_no_sign(value: float, text: str) -> None:
    assert value_text("{:+.2f}", value) == text
