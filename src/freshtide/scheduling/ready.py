"""The waiting updates of one lane, best first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any, Protocol

from freshtide.scheduling.candidates import Candidate

Entry = tuple[Any, int, int, Candidate]
"""Rank, place of the table, sequence number, candidate: entries compare like their candidates."""


class ReadyQueue(Protocol):
    """At most one entry per table."""

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

    An entry is superseded by a newer one of the same table or withdrawn; dead entries are dropped when they surface, so
    that every operation is logarithmic in the number of tables. An entry's sequence number tells the live one from its
    dead likes, and settles ties between them before the candidates themselves would be compared.
    """

    def __init__(self, rank: Callable[[Candidate], Any]) -> None:
        self._rank = rank
        self._heap: list[Entry] = []
        self._live: dict[int, Entry] = {}
        self._sequence = itertools.count()

    def __len__(self) -> int:
        return len(self._live)

    def put(self, candidate: Candidate) -> None:
        entry = (self._rank(candidate), candidate.place, next(self._sequence), candidate)
        self._live[candidate.place] = entry
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 64 + 4 * len(self._live):
            self._heap = list(self._live.values())
            heapq.heapify(self._heap)

    def withdraw(self, candidate: Candidate) -> None:
        self._live.pop(candidate.place, None)

    def head(self) -> Entry | None:
        heap, live = self._heap, self._live
        while heap:
            entry = heap[0]
            if live.get(entry[1]) is entry:
                return entry
            heapq.heappop(heap)
        return None

    def best(self, count: int) -> list[Entry]:
        taken: list[Entry] = []
        while self._heap and len(taken) < count:
            entry = heapq.heappop(self._heap)
            if self._live.get(entry[1]) is entry:
                taken.append(entry)
        for entry in taken:
            heapq.heappush(self._heap, entry)
        return taken


class DrawnQueue:
    """Nobody is better than another: each look at the head draws one of those that wait."""

    def __init__(self, uniform: Callable[[], float]) -> None:
        self._uniform = uniform
        self._waiting: list[Candidate] = []
        self._at: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, candidate: Candidate) -> None:
        if candidate.place not in self._at:
            self._at[candidate.place] = len(self._waiting)
            self._waiting.append(candidate)

    def withdraw(self, candidate: Candidate) -> None:
        at = self._at.pop(candidate.place, None)
        if at is None:
            return
        last = self._waiting.pop()
        if last is not candidate:
            self._waiting[at] = last
            self._at[last.place] = at

    def head(self) -> Entry | None:
        count = len(self._waiting)
        if not count:
            return None
        candidate = self._waiting[int(self._uniform() * count)]
        # As the smallest of so many numbers drawn one by one: a longer queue wins over a shorter one as often.
        return (1.0 - self._uniform() ** (1.0 / count), candidate.place, 0, candidate)

    def best(self, count: int) -> list[Entry]:
        return [(0.0, candidate.place, 0, candidate) for candidate in self._waiting[:count]]
