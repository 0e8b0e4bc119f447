"""The server's key: it seals records, so that nobody else can write one, and decides what is dealt.

The key lies in a file of the user, so that a game goes on after the server has been started anew.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

__all__ = ["Seal", "data_directory", "load_seal"]

_KEY_SIZE = 32


def data_directory() -> Path:
    """Return where the key is kept; ``DOMINO_ENVS_DATA_DIR`` moves it."""
    return Path(os.environ.get("DOMINO_ENVS_DATA_DIR") or platformdirs.user_data_path("domino_envs"))


def load_seal(directory: Path | None = None) -> Seal:
    """Return the seal of this user, making a key if there is none.

    Raises:
        OSError: if the key cannot be read or written.
        ValueError: if the file holds no key.
    """
    path = (directory or data_directory()) / "play.key"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
    else:
        key = secrets.token_bytes(_KEY_SIZE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
    if len(key) != _KEY_SIZE:
        raise ValueError(f"{path} should hold a key of {_KEY_SIZE} bytes, not {len(key)}; delete it to get a new one")
    return Seal(key)


class Seal:
    """Seals objects and derives secret deals.

    Args:
        key: a secret.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def _digest(self, *parts: str) -> bytes:
        message = b"".join(len(data).to_bytes(8, "big") + data for data in (part.encode() for part in parts))
        return hmac.new(self._key, message, hashlib.sha256).digest()

    def of(self, data: Mapping[str, Any]) -> str:
        """Return the seal of a JSON object."""
        return self._digest("record", json.dumps(data, sort_keys=True, allow_nan=False)).hex()

    def fits(self, data: Mapping[str, Any], seal: Any) -> bool:
        """Return whether this is the seal of the object."""
        return isinstance(seal, str) and hmac.compare_digest(self.of(data).encode(), seal.encode())

    def number(self, *parts: str) -> int:
        """Return a secret number below 2**128 that depends on the parts alone."""
        return int.from_bytes(self._digest("number", *parts)[:16], "big")

    def draw_order(self, deal: str, shuffle: int, num_tiles: int) -> list[int]:
        """Return the draw order of a shuffle: a permutation, secret until the tiles are turned up."""
        rng = np.random.default_rng(self.number(deal, "order", str(shuffle)))
        return [int(tile) for tile in rng.permutation(num_tiles)]
