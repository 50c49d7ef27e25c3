"""The releasable updates, best first."""

from __future__ import annotations

import heapq

from freshtide.scheduling.orderings import Candidate, Ordering


class ReadyQueue:
    """A heap of candidates by (rank, table) with at most one live entry per table.

    A table's entry is superseded by a newer one or withdrawn; dead entries are dropped when they surface, so
    that every operation is logarithmic in the number of tables.
    """

    def __init__(self, ordering: Ordering) -> None:
        self._ordering = ordering
        self._heap: list[tuple[float, str, Candidate]] = []
        self._live: dict[str, Candidate] = {}

    def __len__(self) -> int:
        return len(self._live)

    def put(self, candidate: Candidate) -> None:
        if self._live.get(candidate.table) == candidate:
            return
        self._live[candidate.table] = candidate
        heapq.heappush(self._heap, (self._ordering.rank(candidate), candidate.table, candidate))
        if len(self._heap) > 64 + 4 * len(self._live):
            self._rebuild()

    def withdraw(self, table: str) -> None:
        self._live.pop(table, None)

    def pop(self) -> Candidate | None:
        """Take out the best candidate."""
        while self._heap:
            _, table, candidate = heapq.heappop(self._heap)
            if self._live.get(table) is candidate:
                del self._live[table]
                return candidate
        return None

    def best(self, count: int) -> list[Candidate]:
        """The best candidates, without taking them out."""
        taken: list[tuple[float, str, Candidate]] = []
        while self._heap and len(taken) < count:
            entry = heapq.heappop(self._heap)
            if self._live.get(entry[1]) is entry[2]:
                taken.append(entry)
        for entry in taken:
            heapq.heappush(self._heap, entry)
        return [candidate for _, _, candidate in taken]

    def _rebuild(self) -> None:
        self._heap = [(self._ordering.rank(live), live.table, live) for live in self._live.values()]
        heapq.heapify(self._heap)
