"""Many pictures in one file: an animated GIF, an animated SVG, a page with buttons."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from .raster import to_image

__all__ = ["FORMATS", "save_animation", "to_animated_svg", "to_page"]

FORMATS = (".gif", ".svg", ".html")
_LAST = 4  # the last picture stays that many times as long


def save_animation(
    path: str | Path,
    pictures: Sequence[str],
    captions: Sequence[str],
    *,
    delay: float = 1.0,
    title: str = "A game",
    scale: float = 1.0,
) -> None:
    """Write pictures to a file; its ending says how: ``.gif``, ``.svg`` or ``.html``.

    Args:
        path: the file.
        pictures: SVG, of one size.
        captions: a line for each; shown on the page.
        delay: seconds for each picture.
        title: of the page.
        scale: size of a GIF, 1 for the pictures' own.

    Raises:
        ValueError: for another ending, a delay that is not positive, or no picture.
        ModuleNotFoundError: for a GIF without the extra ``draw``.
        OSError: if the file cannot be written.
    """
    path = Path(path)
    check_format(path)
    if not delay > 0:
        raise ValueError(f"delay must be positive, got {delay!r}")
    if not pictures:
        raise ValueError("an animation needs at least one picture")
    if path.suffix == ".gif":
        _save_gif(path, pictures, delay, scale)
    elif path.suffix == ".svg":
        path.write_text(to_animated_svg(pictures, delay), encoding="utf-8")
    else:
        path.write_text(to_page(pictures, captions, delay, title), encoding="utf-8")


def check_format(path: str | Path) -> None:
    """Raise ValueError if the file's ending is none of :data:`FORMATS`."""
    suffix = Path(path).suffix
    if suffix not in FORMATS:
        raise ValueError(f"an animation's name must end in {', '.join(FORMATS)}, got {str(path)!r}")


def _save_gif(path: Path, pictures: Sequence[str], delay: float, scale: float) -> None:
    from PIL.Image import Dither

    images = [to_image(picture, scale) for picture in pictures]
    # One palette for all, from a picture early and one late in the game, so that no colour flickers.
    width, height = images[0].size
    sample = images[0].resize((width, 2 * height))
    sample.paste(images[0], (0, 0))
    sample.paste(images[-1], (0, height))
    palette = sample.quantize(128)
    first, *others = [image.quantize(palette=palette, dither=Dither.NONE) for image in images]
    durations = [round(1000 * delay)] * len(images)
    durations[-1] *= _LAST
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=False)


def to_animated_svg(pictures: Sequence[str], delay: float) -> str:
    """Return one SVG that shows the pictures in turn, without end; a viewer that cannot animate shows the last."""
    total = delay * (len(pictures) - 1 + _LAST)
    opening = re.match(r"<svg[^>]*>", pictures[0])
    assert opening is not None
    parts = [opening[0]]
    for i, picture in enumerate(pictures):
        inner = picture[picture.index(">") + 1 : picture.rindex("</svg>")]
        last = i == len(pictures) - 1
        parts.append(f'<g visibility="{"visible" if last else "hidden"}">{_shown(i, last, delay, total)}{inner}</g>')
    return "".join([*parts, "</svg>"])


def _shown(number: int, last: bool, delay: float, total: float) -> str:
    start, end = number * delay / total, (number + 1) * delay / total
    values, times = ["visible", "hidden"], [start, end]
    if number:
        values, times = ["hidden", *values], [0.0, *times]
    if last:
        values, times = values[:-1], times[:-1]
    if len(values) == 1:
        return ""
    return (
        f'<animate attributeName="visibility" calcMode="discrete" values="{";".join(values)}"'
        f' keyTimes="{";".join(f"{time:.6g}" for time in times)}" dur="{total:g}s" repeatCount="indefinite"/>'
    )


def to_page(pictures: Sequence[str], captions: Sequence[str], delay: float, title: str) -> str:
    """Return a page, complete in itself, to go through the pictures by buttons, arrow keys or by itself."""
    frames = json.dumps([list(pair) for pair in zip(pictures, captions, strict=True)]).replace("</", "<\\/")
    return _PAGE.replace("$TITLE", escape(title)).replace("$DELAY", str(round(1000 * delay))).replace("$FRAMES", frames)


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$TITLE</title>
<style>
:root { color-scheme: light dark }
body { margin: 0 auto; max-width: 960px; padding: 12px; font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.2rem; margin: 0 0 8px }
#picture svg { width: 100%; height: auto; border-radius: 10px }
#controls { display: flex; gap: 8px; align-items: center; margin-top: 8px; flex-wrap: wrap }
#controls button { font: inherit; min-width: 44px; min-height: 40px }
#controls input { flex: 1; min-width: 120px }
</style>
<h1>$TITLE</h1>
<div id="picture"></div>
<div id="controls">
<button id="back" aria-label="back">&#9664;</button>
<button id="play">Play</button>
<button id="next" aria-label="next">&#9654;</button>
<input id="place" type="range" min="0" value="0" aria-label="move">
<span id="caption"></span>
</div>
<script>
const frames = $FRAMES;
const element = id => document.getElementById(id);
let current = 0, timer = null;
element("place").max = frames.length - 1;
function show(number) {
  current = Math.max(0, Math.min(frames.length - 1, number));
  element("picture").innerHTML = frames[current][0];
  element("caption").textContent = `${current} / ${frames.length - 1}  ${frames[current][1]}`;
  element("place").value = current;
}
function stop() { clearInterval(timer); timer = null; element("play").textContent = "Play"; }
function toggle() {
  if (timer) return stop();
  if (current === frames.length - 1) show(0);
  element("play").textContent = "Pause";
  timer = setInterval(() => { show(current + 1); if (current === frames.length - 1) stop(); }, $DELAY);
}
element("back").onclick = () => { stop(); show(current - 1); };
element("next").onclick = () => { stop(); show(current + 1); };
element("play").onclick = toggle;
element("place").oninput = event => { stop(); show(+event.target.value); };
document.onkeydown = event => {
  if (event.target.tagName === "INPUT") return;
  if (event.key === "ArrowLeft") { stop(); show(current - 1); }
  if (event.key === "ArrowRight") { stop(); show(current + 1); }
};
show(0);
</script>
</html>
"""
