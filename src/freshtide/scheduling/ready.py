"""The waiting updates of one lane, best first."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Protocol

from freshtide.scheduling.candidates import Candidate

Entry = tuple[Any, int, int, Candidate]
"""Rank, place of the table, sequence number, candidate: entries compare like their candidates."""


class ReadyQueue(Protocol):
    """At most one entry per candidate, which knows it."""

    def __len__(self) -> int: ...

    def put(self, candidate: Candidate) -> None:
        """Enter the candidate, or give it its new rank if it is waiting already."""
        ...

    def withdraw(self, candidate: Candidate) -> None:
        """Take the candidate out, if it is there."""
        ...

    def head(self) -> Entry | None:
        """The best entry; it stays in the queue."""
        ...

    def best(self, count: int) -> list[Entry]:
        """The best entries, without taking them out."""
        ...


class RankedQueue:
    """A heap by (rank, place).

    An entry is superseded by a newer one of the same candidate or withdrawn; dead entries are dropped when they
    surface, so that every operation is logarithmic in the number of tables. The sequence number settles ties between a
    candidate's live entry and its dead ones before the candidates themselves would be compared.
    """

    def __init__(self, rank: Callable[[Candidate], Any]) -> None:
        self._rank = rank
        self._heap: list[Entry] = []
        self._live = 0
        self._sequence = 0

    def __len__(self) -> int:
        return self._live

    def put(self, candidate: Candidate) -> None:
        rank_of, old = self._rank, candidate.entry
        rank = rank_of(candidate)
        if old is None:
            self._live += 1
        elif old[0] == rank:
            return
        self._sequence += 1
        candidate.entry = entry = (rank, candidate.place, self._sequence, candidate)
        heap = self._heap
        heappush(heap, entry)
        if len(heap) > 64 + 4 * self._live:
            heap[:] = [entry for entry in heap if entry[3].entry is entry]
            heapify(heap)

    def withdraw(self, candidate: Candidate) -> None:
        if candidate.entry is not None:
            candidate.entry = None
            self._live -= 1

    def head(self) -> Entry | None:
        heap = self._heap
        while heap:
            entry = heap[0]
            if entry[3].entry is entry:
                return entry
            heappop(heap)
        return None

    def best(self, count: int) -> list[Entry]:
        taken: list[Entry] = []
        while self._heap and len(taken) < count:
            entry = heappop(self._heap)
            if entry[3].entry is entry:
                taken.append(entry)
        for entry in taken:
            heappush(self._heap, entry)
        return taken


class DrawnQueue:
    """Nobody is better than another: each look at the head draws one of those that wait."""

    def __init__(self, uniform: Callable[[], float]) -> None:
        self._uniform = uniform
        self._waiting: list[Candidate] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, candidate: Candidate) -> None:
        if candidate.entry is None:
            self._stand(candidate, len(self._waiting))
            self._waiting.append(candidate)

    def withdraw(self, candidate: Candidate) -> None:
        if candidate.entry is None:
            return
        position = candidate.entry[2]
        last = self._waiting.pop()
        if last is not candidate:
            self._waiting[position] = last
            self._stand(last, position)
        candidate.entry = None

    def head(self) -> Entry | None:
        count = len(self._waiting)
        if not count:
            return None
        candidate = self._waiting[int(self._uniform() * count)]
        # As the smallest of so many numbers drawn one by one: a longer queue wins over a shorter one as often.
        return (1.0 - self._uniform() ** (1.0 / count), candidate.place, 0, candidate)

    def best(self, count: int) -> list[Entry]:
        return [(0.0, candidate.place, 0, candidate) for candidate in self._waiting[:count]]

    def _stand(self, candidate: Candidate, position: int) -> None:
        candidate.entry = (0.0, candidate.place, position, candidate)
