"""How much of a backlog one load takes: as much as takes some seconds, so that something is done by every restart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from freshtide.core.arrivals import Arrival

AIM = 10.0
"""Seconds that a load of a backlog should take, about."""
# The first load of a run is small: nobody knows yet how long it takes, and runs may be short.
_FIRST = 4_000_000
# Each file costs what so many bytes cost, be it empty: it is listed, opened and registered.
_PER_FILE = 128_000
_GROWTH = 4.0


class PieceSizes:
    """What each table takes at once, in bytes: learnt from how long the last pieces took."""

    def __init__(self) -> None:
        self._sizes: dict[str, float] = {}

    def fitting(self, table: str, files: Sequence[Arrival]) -> int:
        """How many of these files, from the first on, make one piece; at least one, however large."""
        left = self._sizes.get(table, _FIRST)
        for number, file in enumerate(files):
            left -= _weight(file)
            if left < 0:
                return max(1, number)
        return len(files)

    def measured(self, table: str, files: Iterable[Arrival], seconds: float) -> None:
        """Loading these files has taken so long. A small piece says nothing against larger ones."""
        size = self._sizes.get(table, _FIRST)
        weight = sum(map(_weight, files))
        within_aim = weight * min(_GROWTH, AIM / max(seconds, 0.001))
        is_telling = within_aim > size or seconds > AIM
        self._sizes[table] = within_aim if is_telling else size


def _weight(file: Arrival) -> int:
    return _PER_FILE + file.weight
