"""Positions as pictures: SVG, pixels, a window, animations."""

from .animation import save_animation
from .drawing import add_drawing, draw_svg, last_tile, shared_extent
from .raster import rgb_array, to_image, to_png
from .replay import Frame, frames_of_moves, frames_of_record, frames_to_svg

__all__ = ["Frame", "add_drawing", "draw_svg", "frames_of_moves", "frames_of_record", "frames_to_svg", "last_tile",
           "rgb_array", "save_animation", "shared_extent", "to_image", "to_png"]  # fmt: skip
