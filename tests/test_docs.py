"""The documentation builds without a warning, is complete in itself, and its snippets and commands are right."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from domino_envs import cli
from domino_envs.agents import AGENT_KINDS
from domino_envs.games import get_game
from playing import GAMES

pytest.importorskip("sphinx", reason="needs the extra docs")

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if path.parent.name not in ("environments", "api") and path.parent.name != "_build"
)
FETCHES = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=["']([^"']+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(folder / "doctrees")]
    done = subprocess.run(
        [*command, str(DOCS), str(folder / "html")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.parametrize("name", GAMES)
def test_page_of_an_environment(name: str, site: Path) -> None:
    html = (site / "environments" / f"{name}.html").read_text(encoding="utf-8")
    text = unescape(re.sub(r"<[^>]+>", "", html))
    game = get_game(name)
    for heading in (
        "Rules",
        "Observation",
        "Actions",
        "Rewards and the end",
        "Arguments",
        "Readings",
        "Version history",
    ):
        assert re.search(rf"<h2>{heading}<", html), heading
    for field in (*game.layout.fields, *game.hidden.fields):
        assert field.name in text
        assert field.meaning.replace("'", "’") in text
    for theme in ("light", "dark"):
        assert f"pictures/{name}-{theme}.svg" in html
        assert (site / "pictures" / f"{name}-{theme}.svg").read_text(encoding="utf-8").startswith("<svg")


def test_nothing_is_loaded_from_elsewhere_and_every_link_between_pages_holds(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= 20
    for page in pages:
        html = page.read_text(encoding="utf-8")
        for address in FETCHES.findall(html):
            assert not re.match(r"(?:https?:)?//", address), (page.name, address)
        for address in re.findall(r'<a\b[^>]*?href="([^"#?]+)', html):
            if not re.match(r"[a-z]+:", address):
                assert (page.parent / address).exists(), (page.name, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style


def test_notebooks_are_shown_with_their_pictures(site: Path) -> None:
    html = (site / "notebooks" / "01_first_game.html").read_text(encoding="utf-8")
    assert html.count("image/svg") + html.count("<svg") + html.count(".svg") >= 4


def snippets(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page, "python")], ids=lambda page: page.stem)
def test_snippets_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"  # a file, for kernels that are cached
    script.write_text("\n".join(snippets(page, "python")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


def test_the_guide_to_opponents_names_every_kind_of_agent() -> None:
    text = (DOCS / "guides" / "opponents.md").read_text(encoding="utf-8")
    assert {re.split(r"\W", name)[0] for name in re.findall(r"`\"([^`]+)\"`", text)} >= set(AGENT_KINDS)


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page, "console")], ids=lambda page: page.stem)
def test_commands_of_a_page_exist(page: Path) -> None:
    for block in snippets(page, "console"):
        for line in block.splitlines():
            program, *words = shlex.split(line.removeprefix("$ "))
            if program == "domino-envs":
                assert words[0] in cli.COMMANDS
                cli._parser(words[0]).parse_args(words)  # exits at a wrong argument
            elif program == "python":
                assert (ROOT / words[0]).is_file()
            else:
                assert program in ("pip", "tensorboard", "sphinx-build"), line
