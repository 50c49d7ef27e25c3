"""Small pieces: what would be computed at once in worlds as small as these goes in many parts."""

from __future__ import annotations

from collections.abc import Sequence

from freshtide.core.arrivals import Arrival
from freshtide.core.pieces import LONGEST_PIECE
from freshtide.runtime.pieces import PieceSizes

_FILES = 3
_BYTES = 500.0


class SmallPieces(PieceSizes):
    """Updates that take three files at most, or as many rows of a view's sources, however quickly they did so."""

    def fitting(self, table: str, files: Sequence[Arrival], *, aim: float = LONGEST_PIECE) -> int:
        return min(_FILES, super().fitting(table, files, aim=aim))

    def span(self, view: str, *, aim: float, within: float | None) -> float:
        return min(_BYTES, super().span(view, aim=aim, within=within))
