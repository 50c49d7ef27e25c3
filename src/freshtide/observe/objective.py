"""What a warehouse is there to keep small: staleness weighted by priority, and what of it is beyond target lags.

At a moment it is the sum, over all tables that have data, of priority times staleness; lateness is the same with what
staleness is beyond the target lag, of the tables that have one. Over a stretch of time it is the mean of these sums.
Times in which no run goes on count like all others: tables grow stale in them. Times in which a table was taken out do
not: it counts from when it came back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from freshtide.catalog import Catalog, TableRow, UpdateEnd
from freshtide.core.instants import format_instant
from freshtide.core.staleness import Stretch, stretch_of
from freshtide.core.tables import Kind, Table

SPAN = 3_600.0
"""How far back is looked: an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Sums over tables, in seconds."""

    weighted_staleness: float
    weighted_lateness: float

    def as_json(self) -> dict[str, Any]:
        return {"weighted_staleness": self.weighted_staleness, "weighted_lateness": self.weighted_lateness}


def objective_of(lags: Iterable[tuple[float, float, float | None]]) -> Objective:
    """Of tables that have data: priority, staleness and target lag of each."""
    staleness = lateness = 0.0
    for priority, lag, target in lags:
        staleness += priority * lag
        if target is not None:
            lateness += priority * max(0.0, lag - target)
    return Objective(weighted_staleness=staleness, weighted_lateness=lateness)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastHour:
    """The hour up to a moment."""

    until: float
    tables: Mapping[str, Stretch] = field(default_factory=dict)
    """Those that had data in it, and whose past staleness is known: of update tables and of what has no time nobody
    writes it down."""
    objective: Objective | None = None
    """The mean over the time since the first of them had data; None if none had."""

    @property
    def since(self) -> float | None:
        return min((stretch.since for stretch in self.tables.values()), default=None)

    def is_whole(self, table: str) -> bool:
        """Whether the table has had data for all of the hour."""
        return self.tables[table].since <= self.until - SPAN

    def as_json(self) -> dict[str, Any] | None:
        if self.objective is None or self.since is None:
            return None
        return {"since": format_instant(self.since), "seconds": self.until - self.since, **self.objective.as_json()}

    def of_table_as_json(self, table: str) -> dict[str, Any] | None:
        stretch = self.tables.get(table)
        if stretch is None:
            return None
        return {
            "since": format_instant(stretch.since),
            "seconds": stretch.length,
            "mean_staleness": stretch.mean_staleness,
            "share_within_target": stretch.share_within,
        }


def last_hour(catalog: Catalog, tables: Sequence[Table], rows: Mapping[str, TableRow], now: float) -> LastHour:
    """What the tables were like in the last hour, from the updates that ended in it. `rows` is how they stand now."""
    ends: dict[str, list[UpdateEnd]] = {}
    for end in catalog.updates.ended_since(now - SPAN):
        if end.at <= now:
            ends.setdefault(end.table, []).append(end)
    found: dict[str, Stretch] = {}
    for table in tables:
        row = rows.get(table.name)
        if table.kind is Kind.LATEST or not table.has_time or row is None:
            continue
        own = ends.get(table.name, ())
        stretch = stretch_of(
            own[0].before if own else row.freshness,
            _commits(own, row.freshness),
            # What was while it was no part of the warehouse is nobody's to keep.
            since=now - SPAN if row.since is None else max(now - SPAN, row.since),
            until=now,
            target=table.target_lag,
        )
        if stretch is not None:
            found[table.name] = stretch
    return LastHour(until=now, tables=found, objective=_mean(found, {t.name: t.priority for t in tables}, now))


def _commits(ends: Sequence[UpdateEnd], freshness: float | None) -> list[tuple[float, float | None]]:
    """Moments and what was reached by then. Of an update that was interrupted, the next one knows, or the table."""
    known_later = [*(end.before for end in ends), freshness][1:]
    return [(end.at, end.after if end.is_done else later) for end, later in zip(ends, known_later, strict=True)]


def _mean(stretches: Mapping[str, Stretch], priorities: Mapping[str, float], now: float) -> Objective | None:
    if not stretches:
        return None
    length = now - min(stretch.since for stretch in stretches.values())
    return Objective(
        weighted_staleness=sum(priorities[name] * of.staleness for name, of in stretches.items()) / length,
        weighted_lateness=sum(priorities[name] * of.lateness for name, of in stretches.items()) / length,
    )
