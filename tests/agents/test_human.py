"""The person at the terminal: what is shown, what is understood, and how to leave."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from agents.helpers import masks_of
from domino_envs.agents import make_agent
from domino_envs.agents.positions import opening_positions
from domino_envs.games import get_game

DOMASTER, THIRD_LEVEL = get_game("domaster"), get_game("third_level")


@pytest.fixture
def answers(monkeypatch):
    """Lines that the person will type; the input ends after the last."""
    lines = []

    def read(prompt=""):
        if not lines:
            raise EOFError
        return lines.pop(0)

    monkeypatch.setattr(builtins, "input", read)
    return lines


def ask(game, states):
    return make_agent("human", game).act(None, masks_of(game, states), states)


def test_takes_a_move_in_notation_or_by_number(answers):
    states = opening_positions(DOMASTER, 2, seed=1)
    legal = [DOMASTER.legal_actions(states, row) for row in range(2)]
    answers += [f"  {DOMASTER.notation(states, legal[0][3])} ", "2"]
    assert ask(DOMASTER, states).tolist() == [legal[0][3], legal[1][1]]


def test_asks_again_after_what_is_no_move(answers, capsys):
    states = opening_positions(DOMASTER, 1, seed=1)
    legal = DOMASTER.legal_actions(states)
    answers += ["", "nonsense", "0", str(len(legal) + 1), "?", "1"]
    assert ask(DOMASTER, states).tolist() == [legal[0]]
    shown = capsys.readouterr().out
    assert shown.count("is no legal move here") == 3
    assert all(DOMASTER.notation(states, action) in shown for action in legal)
    assert "'nonsense'" in shown


def test_the_position_is_shown_as_the_seat_sees_it(answers, capsys):
    states = opening_positions(THIRD_LEVEL, 1, seed=2)
    answers.append("1")
    ask(THIRD_LEVEL, states)
    seat = int(states["mover"][0])
    shown = capsys.readouterr().out
    assert THIRD_LEVEL.text(states[0], seat) in shown
    assert f"player_{1 - seat}: 3 hidden" in shown


@pytest.mark.parametrize("words", [["quit"], ["exit"], []])
def test_quitting_stops_what_ctrl_c_stops(answers, words):
    answers += words
    with pytest.raises(KeyboardInterrupt):
        ask(DOMASTER, opening_positions(DOMASTER, 1, seed=1))


def test_needs_the_position():
    with pytest.raises(ValueError, match="states"):
        make_agent("human", DOMASTER).act(None, np.ones((1, 100), dtype=np.int8))
