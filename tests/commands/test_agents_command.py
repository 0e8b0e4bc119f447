"""``domino-envs agents``."""

from __future__ import annotations

import json

import pytest

from domino_envs.agents import AGENT_KINDS, make_agent
from domino_envs.cli import main
from domino_envs.policies import shipped_policies


def test_the_table_names_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents"]) == 0
    shown = capsys.readouterr().out
    for kind in AGENT_KINDS.values():
        assert f"\n{kind.usage} " in f"\n{shown}"
        assert kind.help in shown
    for name in shipped_policies():
        assert f"policy:{name}" in shown


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [kind["name"] for kind in found["agents"]] == list(AGENT_KINDS)
    assert found["policies"] == [f"policy:{name}" for name in shipped_policies()]
    assert make_agent("random", "mate").name in [kind["name"] for kind in found["agents"]]
