"""The releasable updates, best first."""

from __future__ import annotations

import heapq
import itertools

from freshtide.scheduling.orderings import Candidate, Ordering

_Entry = tuple[float, str, int, Candidate]
"""Rank, table, sequence number, candidate."""


class ReadyQueue:
    """A heap of candidates by (rank, table) with at most one live entry per table.

    A table's entry is superseded by a newer one or withdrawn; dead entries are dropped when they surface, so
    that every operation is logarithmic in the number of tables. An entry's sequence number tells the live one
    from its dead likes, and settles ties between them before the candidates themselves would be compared.
    """

    def __init__(self, ordering: Ordering) -> None:
        self._ordering = ordering
        self._heap: list[_Entry] = []
        self._live: dict[str, _Entry] = {}
        self._sequence = itertools.count()

    def __len__(self) -> int:
        return len(self._live)

    def put(self, candidate: Candidate) -> None:
        live = self._live.get(candidate.table)
        if live is not None and live[3] == candidate:
            return
        entry = (self._ordering.rank(candidate), candidate.table, next(self._sequence), candidate)
        self._live[candidate.table] = entry
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 64 + 4 * len(self._live):
            self._rebuild()

    def withdraw(self, table: str) -> None:
        self._live.pop(table, None)

    def pop(self) -> Candidate | None:
        """Take out the best candidate."""
        while self._heap:
            entry = heapq.heappop(self._heap)
            if self._live.get(entry[1]) is entry:
                del self._live[entry[1]]
                return entry[3]
        return None

    def best(self, count: int) -> list[Candidate]:
        """The best candidates, without taking them out."""
        taken: list[_Entry] = []
        while self._heap and len(taken) < count:
            entry = heapq.heappop(self._heap)
            if self._live.get(entry[1]) is entry:
                taken.append(entry)
        for entry in taken:
            heapq.heappush(self._heap, entry)
        return [candidate for *_, candidate in taken]

    def _rebuild(self) -> None:
        self._heap = list(self._live.values())
        heapq.heapify(self._heap)
