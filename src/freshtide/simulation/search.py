"""The best schedule there is, by looking at all of them: a yardstick for policies, on small instances."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cache

from freshtide.simulation.streams import files_of
from freshtide.simulation.workload import SimulatedTable, Workload

_Running = tuple[tuple[float, int, float], ...]
"""Of the updates that run: when each ends, of which table, up to which time stamp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instance:
    """A workload with execution times that are what is expected."""

    tables: tuple[SimulatedTable, ...]
    sources: tuple[tuple[int, ...], ...]
    files: tuple[tuple[tuple[float, float], ...], ...]
    """Of each table, moments and time stamps up to the horizon."""
    tracks: int
    horizon: float

    def pending(self, table: int, freshness: tuple[float, ...], now: float) -> list[float]:
        """What an update of the table that starts now could go up to."""
        if self.sources[table]:
            edge = min(freshness[source] for source in self.sources[table])
            return [edge] if edge > freshness[table] else []
        stamps = {stamp for moment, stamp in self.files[table] if moment <= now and stamp > freshness[table]}
        return sorted(stamps)


def least_weighted_staleness(workload: Workload, *, tracks: int, horizon: float) -> float:
    """The smallest weighted staleness that any schedule reaches: it may know the future, wait, and load in part.

    The time this takes grows exponentially with the number of files: three or four tables with three files each are
    well. Variability and slowdowns are left out.
    """
    place = {table.name: number for number, table in enumerate(workload.tables)}
    instance = _Instance(
        tables=workload.tables,
        sources=tuple(tuple(place[source] for source in table.sources) for table in workload.tables),
        files=tuple(_files(table, workload.seed, horizon) for table in workload.tables),
        tracks=tracks,
        horizon=horizon,
    )
    return _search(instance) / horizon


def _files(table: SimulatedTable, seed: int, horizon: float) -> tuple[tuple[float, float], ...]:
    return tuple(itertools.takewhile(lambda file: file[0] <= horizon, files_of(table, seed)))


def _search(instance: _Instance) -> float:
    tables = instance.tables
    moments = sorted({moment for files in instance.files for moment, _ in files})

    @cache
    def least(now: float, freshness: tuple[float, ...], running: _Running) -> float:
        """The smallest weighted area from now to the horizon."""
        best = pass_time(now, freshness, running)
        busy = {table for _, table, _ in running}
        if len(running) < instance.tracks:
            for number, table in enumerate(tables):
                if number in busy:
                    continue
                for upto in instance.pending(number, freshness, now):
                    end = now + table.alpha + table.beta * (upto - freshness[number])
                    best = min(best, least(now, freshness, tuple(sorted((*running, (end, number, upto))))))
        return best

    def pass_time(now: float, freshness: tuple[float, ...], running: _Running) -> float:
        """Start nothing more now; go on when something ends or arrives."""
        arrival = next((moment for moment in moments if moment > now), math.inf)
        then = min(instance.horizon, arrival, running[0][0] if running else math.inf)
        area = sum(
            table.priority * (then - now) * (then + now - 2.0 * fresh) / 2.0
            for table, fresh in zip(tables, freshness, strict=True)
        )
        if then >= instance.horizon:
            return area
        reached = list(freshness)
        for end, table, upto in running:
            if end == then:
                reached[table] = upto
        return area + least(then, tuple(reached), tuple(update for update in running if update[0] > then))

    return least(0.0, (0.0,) * len(tables), ())
