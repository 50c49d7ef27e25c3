"""Those that wait and count the more the longer they do: when to rank them anew."""

from __future__ import annotations

from heapq import heappop, heappush

from freshtide.core.objective import RENEWED_AT_ONCE, rank_holds
from freshtide.scheduling.known import KnownTable


class Aging:
    """A moment for each table that waits, after which its rank is out of date."""

    def __init__(self, tables: list[KnownTable]) -> None:
        self._tables = tables
        self._due = [0.0] * len(tables)
        """By place: the moment that counts."""
        self._heap: list[tuple[float, int]] = []

    def ranked(self, table: KnownTable, now: float) -> None:
        """The table has its rank as of now."""
        due = now + rank_holds(table.candidate.credit)
        self._due[table.place] = due
        heappush(self._heap, (due, table.place))

    def outdated(self, now: float) -> list[KnownTable]:
        """Those whose ranks hold no longer, those for the longest time first, as many as one decision bears."""
        found: list[KnownTable] = []
        heap, due, tables = self._heap, self._due, self._tables
        while heap and heap[0][0] <= now and len(found) < RENEWED_AT_ONCE:
            moment, place = heappop(heap)
            table = tables[place]
            if due[place] == moment and table.candidate.ticket:
                found.append(table)
        return found
