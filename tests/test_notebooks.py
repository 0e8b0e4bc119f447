"""The notebooks run from top to bottom; what is stored of them is complete, small and silent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from domino_envs.policies import shipped_policies

nbformat = pytest.importorskip("nbformat", reason="needs the extra notebooks")
nbclient = pytest.importorskip("nbclient", reason="needs the extra notebooks")

FOLDER = Path(__file__).parent.parent / "notebooks"
NAMES = [
    "01_first_game",
    "02_train_with_ppo",
    "03_play_a_pretrained_policy",
    "04_perfect_play_in_mate",
    "05_write_your_own_agent",
    "06_add_a_game",
]
LARGEST = 400_000  # bytes, pictures included
SECONDS = 600  # for a cell, on a machine that does much else

all_notebooks = pytest.mark.parametrize("name", NAMES)


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def test_there_are_these_notebooks() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


def skip_without_policies(name: str) -> None:
    if name.startswith("03") and not shipped_policies():
        pytest.skip("no policies are shipped with this version")


@all_notebooks
def test_what_is_stored(name: str) -> None:
    skip_without_policies(name)
    path = FOLDER / f"{name}.ipynb"
    assert path.stat().st_size < LARGEST
    notebook = read(name)
    nbformat.validate(notebook)
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"] == list(
        range(1, 1 + sum(cell.cell_type == "code" for cell in notebook.cells))
    )
    assert not [
        output for output in outputs(notebook) if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs(notebook))
    # No place on the machine that ran it.
    assert not re.search(r"/(?:home|root|tmp|work|Users)/", path.read_text(encoding="utf-8"))


@all_notebooks
def test_it_is_written_for_a_student(name: str) -> None:
    cells = read(name).cells
    first, last = cells[0], cells[-1]
    assert first.cell_type == last.cell_type == "markdown"
    assert re.match(rf"# {int(name[:2])} · ", first.source)
    assert "pip install" in first.source
    assert len(re.findall(r"^\d\. ", last.source[last.source.index("## Exercises") :], re.MULTILINE)) >= 3


@pytest.mark.slow
@all_notebooks
def test_it_runs_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    skip_without_policies(name)
    notebook = read(name)
    client = nbclient.NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    printed = "".join(output.text for output in outputs(notebook) if output.get("name") == "stderr")
    # With an empty cache a notebook says that it compiles.
    assert [line for line in printed.splitlines() if not line.startswith("domino_envs: compiling")] == []
