"""How long data was on its way into the tables, in proportion to how long it had been gathered (Bateni et al. 2009, 2).

An update, in the sense of the paper, is what one file brings: the data from the time stamp before to its own, and this
distance is its length. It flows from the beginning of that interval until the table's freshness reaches its end. What
one update of the warehouse loads is a batch. All of it follows from when freshness moved and from the files that had
arrived by the end of a run.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from freshtide.simulation.staleness import Staleness
from freshtide.simulation.streams import Arrival, files_until
from freshtide.simulation.workload import SimulatedTable, fresh_at_first


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """One table's updates over a whole run."""

    stretch: float | None
    """The largest flow time through length (section 2.1); None if no update was completed."""
    low: float
    """LOW: the sum of the squared lengths. Half of it bounds the area under staleness from below (section 2.2)."""
    penalty: float
    """The sum of the squared flow times of batches. Half of it bounds that area from above, up to the last batch."""


def flows(
    tables: Sequence[SimulatedTable], staleness: Mapping[str, Staleness], *, seed: int, end: float
) -> dict[str, Flow]:
    """The flow of each table of a run that lasted until `end`."""
    by_name = {table.name: table for table in tables}
    first = fresh_at_first(tables)
    arrived = {
        table.name: [*((0.0, stamp) for stamp in sorted(table.standing.pending)), *files_until(table, seed, end)]
        for table in tables
        if table.stream is not None
    }
    found = {}
    for table in tables:
        begin = first[table.name]
        stamps = _stamps({base: first[base] for base in _bases(table, by_name)}, arrived, begin)
        curve = staleness[table.name]
        found[table.name] = Flow(
            stretch=_stretch(stamps, curve, begin), low=_low(stamps, begin), penalty=_penalty(curve, begin)
        )
    return found


def _bases(table: SimulatedTable, by_name: Mapping[str, SimulatedTable]) -> list[str]:
    """The base tables that a table is computed from; a base table is its own."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    open_ = [table]
    while open_:
        current = open_.pop()
        if current.name in seen:
            continue
        seen.add(current.name)
        if current.stream is not None:
            found[current.name] = None
        open_ += [by_name[source] for source in current.sources]
    return list(found)


def _stamps(bases: Mapping[str, float], arrived: Mapping[str, Sequence[Arrival]], begin: float) -> list[float]:
    """The ends of a table's updates, ascending, given how fresh its base tables and it are at first.

    A view could at best be as fresh as the least fresh of its base tables: each movement of that ideal trailing edge
    is an update of the view.
    """
    if len(bases) == 1:
        (base,) = bases
        return sorted({stamp for _, stamp in arrived[base] if stamp > begin})
    newest = dict(bases)
    edges: list[float] = []
    for _, base, stamp in heapq.merge(*(_labelled(base, arrived[base]) for base in bases)):
        newest[base] = max(newest[base], stamp)
        edge = min(newest.values())
        if edge > (edges[-1] if edges else begin):
            edges.append(edge)
    return edges


def _labelled(base: str, files: Sequence[Arrival]) -> Iterator[tuple[float, str, float]]:
    return ((moment, base, stamp) for moment, stamp in files)


def _low(stamps: Sequence[float], begin: float) -> float:
    return sum((end - start) ** 2 for start, end in itertools.pairwise([begin, *stamps]))


def _stretch(stamps: Sequence[float], curve: Staleness, begin: float) -> float | None:
    largest: float | None = None
    intervals = itertools.pairwise([begin, *stamps])
    interval = next(intervals, None)
    for moment, freshness in zip(curve.moments, curve.freshnesses, strict=True):
        while interval is not None and interval[1] <= freshness:
            start, end = interval
            stretch = (moment - start) / (end - start)
            largest = stretch if largest is None else max(largest, stretch)
            interval = next(intervals, None)
    return largest


def _penalty(curve: Staleness, begin: float) -> float:
    """A batch begins where the table's freshness was before, so that it flowed for as long as the table was stale."""
    total, before = 0.0, begin
    for moment, freshness in zip(curve.moments, curve.freshnesses, strict=True):
        if freshness > before:
            total += (moment - before) ** 2
            before = freshness
    return total
