"""The rules in brief, for players; the modules of the environments have them in full."""

from __future__ import annotations

__all__ = ["RULES"]

_CHAINS = [
    "Whoever lays the eleventh tile of any chain wins the deal. A chain takes five tiles on each side of its first.",
    "Only the tile nearest to you in each of your columns can be played; playing it frees the one behind.",
    "A tile goes to the free end of a chain where the touching halves are equal.",
    "Who can move must; who cannot, passes. If both pass in succession, the deal is drawn.",
]

#: Game by name to sentences.
RULES: dict[str, list[str]] = {
    "domaster": [*_CHAINS, "A tile may also start a new chain while there are fewer than five."],
    "five_bridges": [*_CHAINS, "All five chains are begun by the deal."],
    "mate": [
        "Lay a tile that fits the free half of the tile which the other has just laid. Who cannot, loses the game.",
        "The opener begins at either half of the tile turned up.",
        "The winner scores the number of tiles on the table times the pips on the last one.",
        "A set is two games: for the second one you exchange the hands, and the other opens.",
    ],
    "third_level": [
        "Whoever brings a tile onto the third level wins.",
        "On the ground a tile must touch the others, and no row and no column may hold a pip value twice, gaps or not.",
        "Higher up, a tile covers two cells of equal height, each half on its equal. That ends your turn.",
        "A tile laid on the ground earns a bonus: lift a free tile from the table onto a higher level, if the ground "
        "stays in one piece. After a lift you may lay another tile.",
        "You draw after each tile laid from your hand. If neither can move, the game is drawn.",
    ],
}
