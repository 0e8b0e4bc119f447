"""Tests of matches and round robins: mirrored deals, repeatability, interruption, the clock, the numbers."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from domino_envs.agents import Agent, make_agent
from domino_envs.arena import GameRecord, Result, check_record, load, match, play_match, resume, round_robin
from domino_envs.arena.match import Settings, deal_of
from domino_envs.games import get_game


def lowest(observation: NDArray[np.int8], mask: NDArray[np.int8]) -> int:
    return int(mask.argmax())


def highest(observation: NDArray[np.int8], mask: NDArray[np.int8]) -> int:
    return len(mask) - 1 - int(mask[::-1].argmax())


def timeless(games: list[GameRecord]) -> list[GameRecord]:
    return [dataclasses.replace(game, seconds=(0, 0), times=None) for game in games]


class Sleepy(Agent):
    """Plays the lowest action one game at a time and notes how it is called."""

    name = "sleepy"
    needs_states = True
    one_at_a_time = True

    def __init__(self, game: Any) -> None:
        super().__init__(game, seed=0)
        self.deals = 0
        self.seeds: list[int | None] = []
        self.plies: list[int] = []

    def reseed(self, seed: int | None) -> None:
        super().reseed(seed)
        if hasattr(self, "seeds"):
            self.seeds.append(seed)

    def start_deal(self) -> None:
        self.deals += 1
        self.plies.append(-1)

    def act(
        self, observations: NDArray[np.int8], action_masks: NDArray[np.int8], states: NDArray[Any] | None = None
    ) -> NDArray[np.int64]:
        assert len(observations) == 1
        assert states is not None and states.shape == (1,)
        self.plies.append(int(states["ply"][0]))
        return action_masks.argmax(axis=1)


class Crowd(Agent):
    """Plays the lowest action for as many games as it gets at once."""

    name = "crowd"

    def __init__(self, game: Any) -> None:
        super().__init__(game, seed=0)
        self.largest = 0

    def act(
        self, observations: NDArray[np.int8], action_masks: NDArray[np.int8], states: NDArray[Any] | None = None
    ) -> NDArray[np.int64]:
        assert states is None
        self.largest = max(self.largest, len(observations))
        return action_masks.argmax(axis=1)


@pytest.mark.parametrize("name", ["domaster", "five_bridges", "mate", "third_level"])
def test_each_deal_is_played_twice_with_seats_exchanged(name: str) -> None:
    result = round_robin(name, ["random", lowest, highest], deals=3, seed=1)
    assert result.complete
    assert len(result.games) == 3 * 3 * 2
    assert result.settings.episode == ("set" if name == "mate" else "deal")
    pairs = list(zip(result.games[::2], result.games[1::2], strict=True))
    for one, two in pairs:
        assert one.players == two.players[::-1]
        assert (one.orders, one.opener, one.deal) == (two.orders, two.opener, two.deal)
        assert check_record(one).over and check_record(two).over
    assert len({str(one.orders) for one, _ in pairs}) == 3  # all pairings play the same deals


def test_openers_and_orders_vary_with_deal_and_seed() -> None:
    game = get_game("domaster")
    deals = [deal_of(game, "deal", seed, deal) for seed in (0, 1) for deal in range(20)]
    assert len({orders.tobytes() for orders, _ in deals}) == 40
    assert {opener for _, opener in deals} == {"player_0", "player_1"}
    again = deal_of(game, "deal", 1, 19)
    assert np.array_equal(again[0], deals[-1][0]) and again[1] == deals[-1][1]


def test_mirrored_deterministic_games() -> None:
    """An agent against itself, without chance, splits every mirrored pair."""
    result = play_match("domaster", lowest, lowest, deals=20)
    pairing = result.pairing("lowest", "lowest#2")
    assert pairing.score.value == 0.5
    assert pairing.wins == pairing.losses > 0


def test_equal_seeds_give_equal_games_and_others_do_not() -> None:
    def play(seed: int) -> list[GameRecord]:
        return timeless(round_robin("mate", ["random", "random"], deals=5, seed=seed).games)

    assert play(4) == play(4)
    assert play(4) != play(5)


def test_a_player_plays_alike_whoever_else_takes_part() -> None:
    two = round_robin("mate", ["random", lowest], deals=4)
    three = round_robin("mate", [lowest, highest, "random"], deals=4)
    moves = {(g.players, g.deal): g.moves for g in three.games}
    assert all(moves[g.players, g.deal] == g.moves for g in two.games)


def test_any_number_of_workers_gives_the_same_games(tmp_path: Path) -> None:
    def play(workers: int) -> Result:
        path = tmp_path / f"{workers}.jsonl"
        return round_robin("mate", ["random", "perfect"], deals=70, workers=workers, path=path)

    one, two = play(1), play(2)
    assert timeless(one.games) == timeless(two.games)
    assert load(tmp_path / "2.jsonl", check=True) == two


def test_batches_and_single_games() -> None:
    game = get_game("mate")
    crowd, sleepy = Crowd(game), Sleepy(game)
    together = round_robin(game, {"a": crowd, "b": highest}, deals=10, episode="deal")
    assert crowd.largest >= 10
    crowd.largest = 0
    alone = round_robin(game, {"a": sleepy, "b": highest}, deals=10, episode="deal")
    assert [g.moves for g in alone.games] == [g.moves for g in together.games]
    assert sleepy.deals == 20
    assert len(set(sleepy.seeds)) == 20  # each game has a stream of its own
    round_robin(game, {"a": crowd, "b": sleepy}, deals=10)
    assert crowd.largest == 1


def test_agents_that_play_one_game_are_told_of_every_deal() -> None:
    game = get_game("mate")
    sleepy = Sleepy(game)
    round_robin(game, {"a": sleepy, "b": lowest}, deals=2, episode="match")
    assert sleepy.deals == 2 * 2 * 4
    for before, after in itertools.pairwise(sleepy.plies):
        assert before == -1 or after == -1 or after > before  # a new deal never comes unannounced


def test_interrupted_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    whole = round_robin("third_level", {"random": "random", "slow": Sleepy(get_game("third_level"))}, deals=4)
    moves = sum(len(g.moves) for g in whole.games)

    class Impatient(Sleepy):
        def act(self, *args: Any) -> NDArray[np.int64]:
            if len(self.plies) > moves // 4:
                raise KeyboardInterrupt
            return super().act(*args)

    third_level = get_game("third_level")
    broken = round_robin(third_level, {"random": "random", "slow": Impatient(third_level)}, deals=4, path=path)
    assert not broken.complete
    assert 0 < len(broken.games) < 8
    assert load(path) == dataclasses.replace(broken, settings=load(path).settings)
    with path.open("a") as file:
        file.write('{"format":"domino_envs.ga')  # as if the power had failed
    with pytest.raises(ValueError, match="does not say what slow is"):
        resume(path)
    done = resume(path, players={"random": "random", "slow": Sleepy(third_level)})
    assert done.complete
    assert timeless(done.games) == timeless(whole.games)
    assert load(path, check=True).games == done.games


def test_more_deals(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    few = round_robin("mate", ["random", "perfect"], deals=3, path=path)
    more = resume(path, deals=5)
    assert more.complete and len(more.games) == 10
    assert more.games[:6] == few.games
    with pytest.raises(ValueError, match="has 5 deals, so deals cannot be 2"):
        resume(path, deals=2)
    with pytest.raises(FileExistsError):
        round_robin("mate", ["random", "perfect"], path=path)


def test_half_a_pair_is_played_again(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    whole = round_robin("domaster", {"a": lowest, "b": highest}, deals=3)
    whole.save(path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    assert len(load(path).games) == 4
    assert timeless(resume(path, players={"a": lowest, "b": highest}).games) == timeless(whole.games)


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (0, "", "line 1 is no JSON"),
        (0, "{}", "line 1 is no header of a tournament"),
        (1, "{}", "line 2: this is no game record"),
        (1, "no", "line 2: Expecting value"),
    ],
)
def test_damaged_files(line: int, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    round_robin("mate", ["random", lowest], deals=1).save(path)
    lines = path.read_text().splitlines()
    lines[line] = text
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=message):
        load(path)


def test_a_forged_result_is_found(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    result = round_robin("mate", ["random", lowest], deals=1)
    forged = dataclasses.replace(result.games[1], scores=(999, 0), winner="player_0")
    dataclasses.replace(result, games=[result.games[0], forged]).save(path)
    assert load(path).games[1] == forged
    with pytest.raises(ValueError, match=r"line 3: the record says scores = \(999, 0\)"):
        load(path, check=True)


class FakeTime:
    """Every look at the clock is ``step`` seconds later than the last."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "perf_counter", FakeTime(1.0))  # one second a move
    result = round_robin("domaster", {"a": lowest, "b": highest}, deals=1, clock="2.5")
    for game in result.games:
        assert game.moves[-1] == "flag"
        assert len(game.moves) == 5  # the opener's third move comes too late
        assert game.times == [1.0] * 5
        assert game.winner != game.opener
        assert game.clock == "2.5+0"
        assert check_record(game).deals == [(game.winner, 1)]


def test_an_increment_saves_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "perf_counter", FakeTime(1.0))
    result = round_robin("domaster", {"a": lowest, "b": highest}, deals=1, clock="1.5+1")
    assert all("flag" not in game.moves for game in result.games)


def test_time_is_given_anew_for_each_deal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "perf_counter", FakeTime(1.0))
    result = round_robin("mate", {"a": lowest, "b": highest}, deals=3, clock="3")
    flags = [game.moves.count("flag") for game in result.games]
    assert max(flags) == 2
    for game in result.games:
        assert check_record(game).scores == game.scores
        assert len(check_record(game).deals) == 2


def test_an_illegal_move_names_the_agent() -> None:
    def cheat(observation: NDArray[np.int8], mask: NDArray[np.int8]) -> int:
        return int(mask.argmin())

    with pytest.raises(ValueError, match="cheat chose the illegal action"):
        play_match("mate", cheat, "random", deals=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"players": ["random"]}, "at least two players, got random"),
        ({"players": ["random", "deep_blue"]}, "unknown opponent 'deep_blue'"),
        ({"game": "chess"}, "unknown game 'chess'"),
        ({"deals": 0}, "deals must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"workers": True}, "workers must be"),
        ({"episode": "week"}, "episode must be one of"),
        ({"mode": "bold"}, "mode must be one of"),
        ({"clock": "long"}, "a clock is written"),
        ({"players": ["random", lowest], "workers": 2}, "lowest is no name of an agent"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        round_robin(**{"game": "mate", "players": ["random", "perfect"], **arguments})


def made_up(first: str, second: str, deal: int, score: float, opener: str = "player_0") -> GameRecord:
    winner = {1: "player_0", 0: "player_1", 0.5: None}[score]
    points = (int(score == 1), int(score == 0))
    return GameRecord(
        *("domaster", {}, 1, "deal", [], opener, (first, second), [], True, points, winner, (2.0, 1.0)), deal=deal
    )


def test_the_numbers_by_hand() -> None:
    games = [
        *(made_up("a", "b", 0, 1), made_up("b", "a", 0, 1)),  # the opener wins both
        *(made_up("a", "b", 1, 1), made_up("b", "a", 1, 0)),  # a wins both
        *(made_up("a", "b", 2, 0.5), made_up("b", "a", 2, 0)),
    ]
    result = Result(Settings("domaster", players={"a": "random", "b": "random"}), 3, games)
    pairing = result.pairing("a", "b")
    assert (pairing.wins, pairing.draws, pairing.losses) == (4, 1, 1)
    assert pairing.score.value == pytest.approx(4.5 / 6)
    assert pairing.draw_rate.value == pytest.approx(1 / 6)
    assert pairing.opener_score.value == pytest.approx(3.5 / 6)
    backwards = result.pairing("b", "a")
    assert (backwards.wins, backwards.draws, backwards.losses) == (1, 1, 4)
    assert backwards.score.low == pytest.approx(1 - pairing.score.high)
    best, other = result.standings()
    assert (best.name, best.points, other.points) == ("a", 4.5, 1.5)
    assert best.seconds == 1.5
    assert other.rating.elo < best.rating.elo == 0.0
    with pytest.raises(ValueError, match="expected two of 'a', 'b', got 'a' and 'c'"):
        result.pairing("a", "c")


def test_the_table_shows_all_of_it() -> None:
    result = round_robin("mate", ["random", "perfect"], deals=20)
    title, standings, crosstable, opener = result.table().split("\n\n")
    assert title.startswith("Mate, episode 'set', 20 deals a pairing")
    header, best, anchor = standings.splitlines()
    assert best.startswith("perfect") and anchor.startswith("random")
    assert header.split()[:3] == ["player", "Elo", "[95"]
    assert "perfect" in crosstable.splitlines()[0]
    assert opener.startswith("Opener's score %")
    assert not dataclasses.replace(result, games=result.games[:10]).complete
    assert "10 of 40 games" in dataclasses.replace(result, games=result.games[:10]).title()


def test_the_same_agent_may_be_given_twice() -> None:
    game = get_game("mate")
    result = round_robin(game, [make_agent("random", game), "random"], deals=1)
    assert result.players == ["random", "random#2"]
