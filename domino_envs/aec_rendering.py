"""How the PettingZoo environment shows itself: text, pixels, a window, a picture in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from .draw.window import Window
from .games import Game

__all__ = ["RENDER_MODES", "Rendering"]

RENDER_MODES = ("ansi", "human", "rgb_array")


class Rendering:
    """The part of :class:`~domino_envs.aec.DominoEnv` that draws.

    Attributes:
        render_seat: whose eyes :meth:`render` sees a running episode with; None shows hidden tiles too, as it does at
            the end.
    """

    game: Game
    render_mode: str | None
    render_seat: int | None = None
    metadata: dict[str, Any]
    infos: dict[str, dict[str, Any]]
    _states: NDArray[Any]

    def __init__(self) -> None:
        super().__init__()
        self._window = Window()

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return the position as text (``"ansi"``) or pixels (``"rgb_array"``), or show it in a window (``"human"``).

        Pixels are ``uint8 (height, width, 3)``, of one size throughout.

        Raises:
            gymnasium.error.ResetNeeded: before ``reset()``.
            ValueError: without a render mode.
            ModuleNotFoundError: if a picture or a window is asked for without the extra ``draw``.
        """
        if "agents" not in self.__dict__:
            raise ResetNeeded("render() before reset(): call reset() first")
        if self.render_mode is None:
            raise ValueError(f"render() needs a render_mode, one of {', '.join(map(repr, RENDER_MODES))}")
        if self.render_mode == "ansi":
            return self.game.text(self._states[0], self._viewer())
        pixels = self._pixels()
        if self.render_mode == "rgb_array":
            return pixels
        self._window.show(pixels, self.game.title, self.metadata["render_fps"])
        return None

    def _viewer(self) -> int | None:
        return None if self._states["over"][0] else self.render_seat

    def _pixels(self) -> NDArray[np.uint8]:
        from .draw import rgb_array

        return rgb_array(self.svg(self._viewer()))

    def svg(self, seat: int | None = None, **drawing: Any) -> str:
        """Return the position as an SVG picture.

        Args:
            seat: whose eyes see it; None shows hidden tiles too.
            drawing: what else :func:`~domino_envs.draw.draw_svg` takes (``theme``, ``legal``, ``values`` ...).

        Raises:
            gymnasium.error.ResetNeeded: before ``reset()``.
        """
        from .draw import draw_svg

        if "agents" not in self.__dict__:
            raise ResetNeeded("svg() before reset(): call reset() first")
        # Once both agents have taken their last step, None, there are no infos left.
        drawing.setdefault("last", next((info["move"] for info in self.infos.values()), None))
        return draw_svg(self.game, self._states, seat=seat, **drawing)

    def _repr_svg_(self) -> str | None:
        """The position as notebooks show it."""
        return self.svg() if "agents" in self.__dict__ else None

    def close(self) -> None:
        """Close the window, if there is one."""
        self._window.close()
