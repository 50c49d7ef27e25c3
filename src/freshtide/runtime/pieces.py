"""How much of a backlog one load takes: as much as the others can wait for, and as takes some seconds at most.

So nobody's target is missed for it, and something is done by every restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from freshtide.core.arrivals import Arrival
from freshtide.core.loads import weight_of
from freshtide.core.pieces import FIRST_RATE, LONGEST_PIECE, fitting, learnt_rate


def aim_of(within: float | None) -> float:
    """Seconds that a piece should take of an update that may take so long."""
    return LONGEST_PIECE if within is None else min(LONGEST_PIECE, within)


class PieceSizes:
    """What each table takes in a second, in bytes: learnt from how long the last pieces took."""

    def __init__(self) -> None:
        self._rates: dict[str, float] = {}

    def fitting(self, table: str, files: Sequence[Arrival], *, aim: float = LONGEST_PIECE) -> int:
        """How many of these files, from the first on, take so many seconds; at least one, however large."""
        return fitting(map(weight_of, files), self._rates.get(table, FIRST_RATE) * aim)

    def measured(self, table: str, files: Iterable[Arrival], seconds: float, *, aim: float = LONGEST_PIECE) -> None:
        """Loading these files has taken so long."""
        known = self._rates.get(table, FIRST_RATE)
        self._rates[table] = learnt_rate(known, sum(map(weight_of, files)), seconds, aim=aim)
