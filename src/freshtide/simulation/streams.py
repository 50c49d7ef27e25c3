"""When files arrive."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterator

from freshtide.simulation.adversary import adversarial
from freshtide.simulation.workload import SimulatedTable, Stream

Arrival = tuple[float, float]
"""Moment and time stamp."""


def files_of(table: SimulatedTable, seed: int) -> Iterator[Arrival]:
    """What arrives for a table in a run with this seed: always the same, whoever asks. Nothing for a view."""
    if table.stream is None:
        return iter(())
    return arrivals(table.stream, random.Random(f"{seed}/{table.name}/arrivals"))


def files_until(table: SimulatedTable, seed: int, end: float) -> list[Arrival]:
    """What has arrived for a table by the end of a run, in the order of its arrival."""
    return list(itertools.takewhile(lambda file: file[0] <= end, files_of(table, seed)))


def arrivals(stream: Stream, rng: random.Random) -> Iterator[Arrival]:
    """The files of a stream in the order of their arrival, for ever or as long as they are listed."""
    if stream.arrivals is not None:
        return iter(sorted(stream.arrivals))
    if stream.pattern == "quasiperiodic":
        return ((due, due) for due in _quasiperiodic(stream.period, rng))
    if stream.pattern == "adversarial":
        return ((due, due) for due in adversarial(stream.period, rng))
    if stream.is_undisturbed:
        return ((due, due) for due in _due(stream))
    return _in_order(_disturbed(stream, rng))


def _due(stream: Stream) -> Iterator[float]:
    return (stream.first + number * stream.period for number in itertools.count())


def _quasiperiodic(period: float, rng: random.Random) -> Iterator[float]:
    return itertools.accumulate(rng.uniform(0.5 * period, period) for _ in itertools.count())


def _disturbed(stream: Stream, rng: random.Random) -> Iterator[tuple[float, Arrival]]:
    """Each file with the earliest moment at which a later one could arrive."""
    for due in _due(stream):
        moment = due + rng.uniform(0.0, stream.jitter)
        stamp = due if stream.timestamp_jitter is None else moment - rng.uniform(0.0, stream.timestamp_jitter)
        if stream.late is not None and rng.random() < stream.late.share:
            moment += rng.uniform(0.0, stream.late.by)
        for start, end in stream.outages:
            if start <= moment < end:
                moment = end
        yield due, (moment, stamp)


def _in_order(files: Iterator[tuple[float, Arrival]]) -> Iterator[Arrival]:
    """Sort by moment, holding back only what a file still to come could overtake."""
    held: list[Arrival] = []
    for horizon, file in files:
        while held and held[0][0] <= horizon:
            yield heapq.heappop(held)
        heapq.heappush(held, file)
