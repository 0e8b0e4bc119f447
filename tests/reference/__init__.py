"""A second, slow implementation of the rules, written from the rules alone and sharing no code with the package.

It exists to be compared with: plain Python, lists, sets and dictionaries, no tricks. See each module for the readings
that it takes.
"""

from __future__ import annotations

Tile = tuple[int, int]

DOUBLE_NINE: list[Tile] = [(low, high) for low in range(10) for high in range(low, 10)]
DOUBLE_SIX_NO_DOUBLES: list[Tile] = [(low, high) for low in range(7) for high in range(low + 1, 7)]


def check_orders(orders: list[list[int]], needed: int, size: int) -> list[list[int]]:
    """Copies of the first `needed` draw orders, each a permutation of range(size); ValueError otherwise."""
    if len(orders) < needed:
        raise ValueError(f"the episode needs {needed} draw orders, {len(orders)} given")
    for number, order in enumerate(orders[:needed]):
        if sorted(order) != list(range(size)):
            raise ValueError(f"draw order {number} is not a permutation of the numbers 0 to {size - 1}")
    return [list(order) for order in orders[:needed]]


def check_opener(opener: int) -> int:
    """The opener's seat, 0 or 1; ValueError otherwise."""
    if opener not in (0, 1):
        raise ValueError(f"the opener is seat 0 or 1, not {opener!r}")
    return int(opener)
