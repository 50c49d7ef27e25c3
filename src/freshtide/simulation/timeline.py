"""All that arrives in a run, in the order in which it does.

A heap of streams would be asked for one arrival at a time. Instead the arrivals of all tables are drawn up to a moment
and sorted at once, then those up to the next: most streams are periodic, and their files are a list comprehension.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Protocol, TypeVar

from freshtide.simulation.streams import Arrival, files_of
from freshtide.simulation.workload import SimulatedTable, Stream

# Fewer arrivals at once are more work for each; many more do not fit the processor's caches.
_BLOCK = 1_000
# With many tables: each is looked at once for a block, which has to be worth it.
_PER_TABLE = 4

T = TypeVar("T")


def timeline(
    tables: Sequence[tuple[SimulatedTable, T]], *, seed: int, horizon: float
) -> Iterator[tuple[float, float, T | None]]:
    """Moment, time stamp and table, under any label, of all that arrives up to the horizon.

    At equal moments the table that is named first goes first. The end is marked by None, just beyond the horizon.
    """
    return itertools.chain.from_iterable(_blocks(tables, seed, horizon))


def _blocks(
    tables: Sequence[tuple[SimulatedTable, T]], seed: int, horizon: float
) -> Iterator[list[tuple[float, float, T | None]]]:
    streams = [(_upcoming(table, table.stream, seed), label) for table, label in tables if table.stream is not None]
    per_second = sum(1.0 / table.stream.period for table, _ in tables if table.stream is not None)
    window = max(_BLOCK, _PER_TABLE * len(streams)) / per_second if streams else 0.0
    begin = _soonest(streams)
    while begin < math.inf and begin <= horizon:
        until = min(begin + window, horizon)
        block: list[tuple[float, float, T | None]] = []
        for upcoming, label in streams:
            moments, timestamps = upcoming.until(until)
            block.extend(zip(moments, timestamps, itertools.repeat(label)))
        block.sort(key=itemgetter(0))
        yield block
        begin = _soonest(streams)
    yield [(math.nextafter(horizon, math.inf), math.inf, None)]


def _soonest(streams: Sequence[tuple[_Upcoming, object]]) -> float:
    return min((upcoming.next_at for upcoming, _ in streams), default=math.inf)


class _Upcoming(Protocol):
    """The files of one table, taken up to a moment and then up to the next."""

    @property
    def next_at(self) -> float:
        """When the next one comes; infinity if none does."""
        ...

    def until(self, moment: float) -> tuple[list[float], list[float]]:
        """Moments and time stamps of those that have not been taken."""
        ...


def _upcoming(table: SimulatedTable, stream: Stream, seed: int) -> _Upcoming:
    return _Periodic(stream) if stream.is_undisturbed else _Drawn(files_of(table, seed))


class _Periodic:
    """The same files as `files_of`, but not one by one."""

    def __init__(self, stream: Stream) -> None:
        self._first, self._period = stream.first, stream.period
        self._taken = 0

    @property
    def next_at(self) -> float:
        return self._first + self._taken * self._period

    def until(self, moment: float) -> tuple[list[float], list[float]]:
        first, period, taken = self._first, self._period, self._taken
        # A quotient can be off by its last digit, so that the end is left to the sums that are compared later.
        upto = max(taken, int((moment - first) / period) - 1)
        while first + upto * period <= moment:
            upto += 1
        self._taken = upto
        moments = [first + number * period for number in range(taken, upto)]
        return moments, moments


class _Drawn:
    def __init__(self, files: Iterator[Arrival]) -> None:
        self._files = files
        self._next = next(files, None)

    @property
    def next_at(self) -> float:
        return math.inf if self._next is None else self._next[0]

    def until(self, moment: float) -> tuple[list[float], list[float]]:
        moments, timestamps = [], []
        while self._next is not None and self._next[0] <= moment:
            moments.append(self._next[0])
            timestamps.append(self._next[1])
            self._next = next(self._files, None)
        return moments, timestamps
