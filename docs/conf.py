"""How the documentation is built: ``sphinx-build docs site``.

A page in ``environments/`` is the docstring of its module; its pictures are drawn, and its tables of fields written,
from the code at hand. Notebooks are shown with the outputs that are stored in them. The finished pages load nothing
from elsewhere.
"""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import domino_envs
from domino_envs.draw import draw_svg
from domino_envs.games import Game, get_game
from domino_envs.games.layout import Layout

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent

project = "domino_envs"
author = "the domino_envs developers"
copyright = f"{author}; MIT licence"
version = release = domino_envs.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"domino_envs {version}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2166ac", "color-brand-content": "#2166ac"},
    "dark_css_variables": {"color-brand-primary": "#7db4e6", "color-brand-content": "#7db4e6"},
}

nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
#: Pages of figures, measured apart, that the start page lists if they are there.
MEASURED = ("ladders", "speed")

#: What is shown of a game: seed, and random moves before the picture.
PICTURES = {"mate": (4, 5), "domaster": (1, 22), "five_bridges": (2, 22), "third_level": (1, 20)}


def position_of(name: str) -> tuple[Game, np.ndarray, str | None]:
    """Return a game, a position of it after some random moves, and the last move."""
    seed, moves = PICTURES[name]
    env = importlib.import_module(f"domino_envs.{name}_v0").raw_env()
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(moves):
        env.step(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))
    return env.game, env.position, env.infos["player_0"]["move"]


def draw_pictures(folder: Path) -> None:
    """Draw each game, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        game, position, last = position_of(name)
        for theme in ("light", "dark"):
            svg = draw_svg(game, position, theme=theme, last=last, legal=True)
            (folder / f"{name}-{theme}.svg").write_text(svg, encoding="utf-8")


def picture(name: str, title: str, root: str) -> str:
    """Return the HTML that shows a game's picture in either theme."""
    shown = "".join(
        f'<img class="only-{theme}" src="{root}pictures/{name}-{theme}.svg" alt="{title}: a position">'
        for theme in ("light", "dark")
    )
    return f'<div class="position">{shown}</div>\n'


def gallery() -> str:
    """Return the HTML of all games' pictures, each a link to its page."""
    shown = ""
    for name in PICTURES:
        title = get_game(name).title
        shown += f'<a href="environments/{name}.html">{picture(name, title, "")}<span>{title}</span></a>\n'
    return f'<div class="games">\n{shown}</div>\n'


def layout_table(layout: Layout) -> str:
    """Return the fields of a vector as a Markdown table."""
    lines = ["| components | field | shape | values | meaning |", "| --- | --- | --- | --- | --- |"]
    for field in layout.fields:
        place = layout.slices[field.name]
        components = str(place.start) if field.size == 1 else f"{place.start}–{place.stop - 1}"
        shape = " × ".join(map(str, field.shape)) or "–"
        lines.append(f"| {components} | `{field.name}` | {shape} | {field.low}–{field.high} | {field.meaning} |")
    return "\n".join(lines)


def environment_page(name: str) -> str:
    """Return the Markdown of an environment's page: its module's docstring, picture and tables from the code."""
    module = importlib.import_module(f"domino_envs.{name}_v0")
    game: Game = module.raw_env().game
    first, rest = (module.__doc__ or "").split("\n", 1)
    subtitle = first.partition(": ")[2]
    tables = re.compile(r"^\| components \|.*\n(?:\|.*\n)+", re.MULTILINE)
    rest, replaced = tables.subn(lambda _: layout_table(game.layout) + "\n", rest)
    if replaced != 1:
        raise ValueError(f"the page of {name} must have one table of the observation, it has {replaced}")
    hidden = ""
    if game.hidden.fields:
        hidden = f"What `state()` adds to the observation of `player_0`:\n\n{layout_table(game.hidden)}\n\n"
    rest = rest.replace("\n`clone()`, ", f"\n{hidden}`clone()`, ", 1)
    head = f"# {game.title}\n\n*{subtitle[:1].upper()}{subtitle[1:]}*\n\n{picture(name, game.title, '../')}"
    return f"{head}\n{rest}"


def read_source(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the environments' pages, and the pictures of the start page, in the place of their stubs."""
    folder, _, name = docname.rpartition("/")
    if folder == "environments" and name in PICTURES:
        source[0] = environment_page(name)
    else:
        source[0] = source[0].replace("<!-- gallery -->", gallery())
    if docname == "index":
        for page in MEASURED:
            if page not in app.env.found_docs:
                source[0] = source[0].replace(f"\n{page}\n", "\n")


def prepare(app: Sphinx) -> None:
    """Draw the pictures, and fetch the notebooks, which must lie below this folder."""
    draw_pictures(Path(app.outdir) / "pictures")
    notebooks = HERE / "notebooks"
    notebooks.mkdir(exist_ok=True)
    for path in (HERE.parent / "notebooks").glob("*.ipynb"):
        shutil.copy2(path, notebooks / path.name)


def shorten_signature(
    app: Sphinx, what: str, name: str, value: object, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Write ``NDArray[int8]`` in signatures, as the sources do."""
    inner = r"((?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*)"
    array = re.compile(rf"~?numpy\.ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?numpy\.dtype\[{inner}\]\]")
    short = [text and array.sub(r"NDArray[\1]", text) for text in (signature, returns)]
    return short[0], short[1]


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("builder-inited", prepare)
    app.connect("source-read", read_source)
