"""Positions as pictures: SVG, pixels, a window, animations."""

from .drawing import add_drawing, draw_svg, last_tile
from .raster import rgb_array, to_image, to_png

__all__ = ["add_drawing", "draw_svg", "last_tile", "rgb_array", "to_image", "to_png"]
