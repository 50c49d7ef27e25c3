"""How much of a backlog one load takes: as much as the others can wait for, and as takes some seconds at most.

So nobody's target is missed for it, and something is done by every restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from freshtide.core.arrivals import Arrival
from freshtide.core.loads import LONGEST_PIECE, weight_of

# The first load of a run is small: nobody knows yet how long it takes, and runs may be short. Bytes in a whole piece.
_FIRST = 4_000_000
_GROWTH = 4.0


def aim_of(within: float | None) -> float:
    """Seconds that a piece should take of an update that may take so long."""
    return LONGEST_PIECE if within is None else min(LONGEST_PIECE, within)


class PieceSizes:
    """What each table takes in a second, in bytes: learnt from how long the last pieces took."""

    def __init__(self) -> None:
        self._rates: dict[str, float] = {}

    def fitting(self, table: str, files: Sequence[Arrival], *, aim: float = LONGEST_PIECE) -> int:
        """How many of these files, from the first on, take so many seconds; at least one, however large."""
        left = self._rates.get(table, _FIRST / LONGEST_PIECE) * aim
        for number, file in enumerate(files):
            left -= weight_of(file)
            if left < 0:
                return max(1, number)
        return len(files)

    def measured(self, table: str, files: Iterable[Arrival], seconds: float, *, aim: float = LONGEST_PIECE) -> None:
        """Loading these files has taken so long. A small piece says nothing against larger ones."""
        known = self._rates.get(table, _FIRST / LONGEST_PIECE)
        rate = sum(map(weight_of, files)) * min(_GROWTH, aim / max(seconds, 0.001)) / aim
        self._rates[table] = rate if rate > known or seconds > aim else known
