"""The waiting updates of one lane, best first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Final

from freshtide.scheduling.candidates import Candidate

# Compiled, what a module imports is looked up with each call, unless it is a constant of its own.
_push: Final = heappush
_pop: Final = heappop

Entry = tuple[Any, int, int, Candidate]
"""Rank, place of the table, ticket, candidate: entries compare like their candidates."""


class ReadyQueue(ABC):
    """At most one entry per candidate, which knows it."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def put(self, candidate: Candidate) -> None:
        """Enter the candidate, or give it its new rank if it is waiting already."""

    @abstractmethod
    def withdraw(self, candidate: Candidate) -> None:
        """Take the candidate out, if it is there."""

    @abstractmethod
    def head(self) -> Entry | None:
        """The best entry; it stays in the queue."""

    @abstractmethod
    def best(self, count: int) -> list[Entry]:
        """The best entries, without taking them out."""


class RankedQueue(ReadyQueue):
    """A heap by (rank, place).

    An entry is superseded by a newer one of the same candidate or withdrawn; dead entries are dropped when they
    surface, so that every operation is logarithmic in the number of tables. The ticket settles ties between a
    candidate's live entry and its dead ones before the candidates themselves would be compared.
    """

    def __init__(self, rank: Callable[[Candidate], Any]) -> None:
        self._rank = rank
        self._heap: list[Entry] = []
        self._live = 0
        self._tickets = 0

    def __len__(self) -> int:
        return self._live

    def put(self, candidate: Candidate) -> None:
        rank_of = self._rank
        rank = rank_of(candidate)
        if not candidate.ticket:
            self._live += 1
        elif candidate.rank == rank:
            return
        ticket = self._tickets = self._tickets + 1
        candidate.ticket, candidate.rank = ticket, rank
        heap = self._heap
        _push(heap, (rank, candidate.place, ticket, candidate))
        if len(heap) > 64 + 4 * self._live:
            heap[:] = [entry for entry in heap if entry[3].ticket == entry[2]]
            heapify(heap)

    def withdraw(self, candidate: Candidate) -> None:
        if candidate.ticket:
            candidate.ticket = 0
            self._live -= 1

    def head(self) -> Entry | None:
        heap = self._heap
        while heap:
            entry = heap[0]
            if entry[3].ticket == entry[2]:
                return entry
            _pop(heap)
        return None

    def best(self, count: int) -> list[Entry]:
        taken: list[Entry] = []
        while self._heap and len(taken) < count:
            entry = heappop(self._heap)
            if entry[3].ticket == entry[2]:
                taken.append(entry)
        for entry in taken:
            heappush(self._heap, entry)
        return taken


class DrawnQueue(ReadyQueue):
    """Nobody is better than another: each look at the head draws one of those that wait."""

    def __init__(self, uniform: Callable[[], float]) -> None:
        self._uniform = uniform
        self._waiting: list[Candidate] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, candidate: Candidate) -> None:
        if not candidate.ticket:
            self._waiting.append(candidate)
            # One more than its place in the list.
            candidate.ticket = len(self._waiting)

    def withdraw(self, candidate: Candidate) -> None:
        if not candidate.ticket:
            return
        last = self._waiting.pop()
        if last is not candidate:
            self._waiting[candidate.ticket - 1] = last
            last.ticket = candidate.ticket
        candidate.ticket = 0

    def head(self) -> Entry | None:
        count = len(self._waiting)
        if not count:
            return None
        candidate = self._waiting[int(self._uniform() * count)]
        # As the smallest of so many numbers drawn one by one: a longer queue wins over a shorter one as often.
        return (1.0 - self._uniform() ** (1.0 / count), candidate.place, 0, candidate)

    def best(self, count: int) -> list[Entry]:
        return [(0.0, candidate.place, 0, candidate) for candidate in self._waiting[:count]]
