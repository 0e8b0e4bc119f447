"""SVG to pixels, by resvg: wheels without any system package.

The font is one of our own, so that pictures are equal everywhere.
"""

from __future__ import annotations

import io
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["rgb_array", "to_image", "to_png"]


def to_png(svg: str, scale: float = 1.0) -> bytes:
    """Return an SVG as PNG.

    Raises:
        ModuleNotFoundError: if the extra ``draw`` is not installed.
        ValueError: for a scale that is not positive, or text that is no SVG.
    """
    if not scale > 0:
        raise ValueError(f"scale must be positive, got {scale!r}")
    try:
        import resvg_py
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    with as_file(files(__package__) / "fonts" / "aileron.ttf") as font:
        png = resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=scale,
            skip_system_fonts=True,
            font_files=[str(font)],
            font_family="Aileron",
            sans_serif_family="Aileron",
            monospace_family="Aileron",
        )
    return bytes(png)


def to_image(svg: str, scale: float = 1.0) -> Image:
    """Return an SVG as a Pillow image in RGB; errors as of :func:`to_png`."""
    png = to_png(svg, scale)
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    with Image.open(io.BytesIO(png)) as image:
        return image.convert("RGB")


def rgb_array(svg: str, scale: float = 1.0) -> NDArray[np.uint8]:
    """Return an SVG as pixels, ``uint8 (height, width, 3)``; errors as of :func:`to_png`."""
    return np.array(to_image(svg, scale))


def _missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"pictures in pixels need the module {error.name!r}; install it with: pip install 'domino_envs[draw]'",
        name=error.name,
    )
