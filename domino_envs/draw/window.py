"""A window that shows one picture after the other, by pygame, which is loaded when the first one is shown."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Window"]


class Window:
    """Opens with the first picture. Closed by its user, it stays closed, and further pictures are not shown.

    pygame has one window a process, so two that are open at once show their pictures in the same. A copy, also one that
    is pickled, is a new window that has not been opened.
    """

    def __init__(self) -> None:
        self._pygame: Any = None
        self._clock: Any = None
        self._dismissed = False

    def show(self, pixels: NDArray[np.uint8], title: str, fps: float) -> None:
        """Show a picture; wait as long as a frame lasts, if somebody can see it.

        Args:
            pixels: ``uint8 (height, width, 3)``.
            title: of the window.
            fps: pictures a second.

        Raises:
            ModuleNotFoundError: if the extra ``draw`` is not installed.
            RuntimeError: if there is no display.
        """
        if self._dismissed:
            return
        pygame = self._pygame = _import_pygame()
        height, width, _ = pixels.shape
        try:
            if not pygame.display.get_init():
                pygame.display.init()
            screen = pygame.display.get_surface()
            if screen is None or screen.get_size() != (width, height):
                screen = pygame.display.set_mode((width, height))
            pygame.display.set_caption(title)
        except pygame.error as error:
            raise RuntimeError(
                f"no window can be opened here ({error}); without a display use render_mode='rgb_array' or 'ansi', "
                "or set SDL_VIDEODRIVER=dummy"
            ) from error
        screen.blit(pygame.image.frombuffer(pixels.tobytes(), (width, height), "RGB"), (0, 0))
        pygame.display.flip()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            self._dismissed = True
        elif pygame.display.get_driver() != "dummy":
            self._clock = self._clock or pygame.time.Clock()
            self._clock.tick(fps)

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._pygame is not None:
            self._pygame.display.quit()
            self._pygame = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Window:
        return Window()

    def __reduce__(self) -> tuple[Any, ...]:
        return Window, ()


def _import_pygame() -> Any:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a window needs the module 'pygame'; install it with: pip install 'domino_envs[draw]'", name=error.name
        ) from error
    return pygame
