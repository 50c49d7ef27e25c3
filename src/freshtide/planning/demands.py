"""What a project's tables ask for: costs, states and rhythms as its catalog has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from freshtide.catalog import Catalog
from freshtide.core.costs import GivenCost
from freshtide.core.errors import UnknownTableError
from freshtide.core.feeds import Feed
from freshtide.core.graph import TableGraph
from freshtide.core.health import Rhythm
from freshtide.core.tables import Table
from freshtide.planning.bounds import Demand
from freshtide.project import Project
from freshtide.runs import beginning_of, rhythm_of
from freshtide.scheduling import ScheduledTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """The units that take part in a run, sources first, and the tables that do not."""

    units: tuple[Demand, ...]
    left_out: tuple[str, ...]
    """Paused and failed tables, and what depends on them."""

    def with_cost(self, table: str, alpha: float, beta: float) -> Demands:
        """The same with a table that costs what the user says; the others of its group keep their part."""
        found = next((demand for demand in self.units if table in demand.target_lags), None)
        if found is None:
            raise UnknownTableError(table, known=[name for demand in self.units for name in demand.target_lags])
        others = 1.0 - 1.0 / len(found.target_lags)
        old_alpha, old_beta = found.cost.coefficients
        cost = GivenCost(others * old_alpha + alpha, others * old_beta + beta)
        told = replace(found, cost=cost, known_by="given")
        return replace(self, units=tuple(told if demand is found else demand for demand in self.units))


def demands_of(project: Project, catalog: Catalog) -> Demands:
    """All that is known of the project's tables, in the units that they are scheduled in."""
    graph = project.graph
    learnt = {name for name, row in catalog.tables.all().items() if row.cost.weight > 0.0}
    rhythms = {
        feed.name: None if (known := rhythm_of(feed, catalog, poll=project.settings.poll)) is None else known.rhythm
        for feed in project.feeds.values()
    }
    units: list[Demand] = []
    out: set[str] = set()
    for scheduled in beginning_of(project, catalog).tables:
        if scheduled.paused or scheduled.failed or not out.isdisjoint(graph.units.timed_sources(scheduled.name)):
            out.add(scheduled.name)
            continue
        members = [graph[name] for name in graph.units[scheduled.name]]
        if members[0].made_by is not None:
            continue  # What it takes is part of what the load of the table takes that its flow is.
        is_learnt = getattr(scheduled.cost, "weight", 0.0) > 0.0 or learnt.issuperset(table.name for table in members)
        units.append(_demand(scheduled, members, project, rhythms, "learnt" if is_learnt else "assumed"))
    return Demands(units=tuple(units), left_out=tuple(name for name in graph if graph.units.of(name) in out))


def _demand(
    scheduled: ScheduledTable,
    members: Sequence[Table],
    project: Project,
    rhythms: Mapping[str, Rhythm | None],
    known_by: Literal["learnt", "assumed"],
) -> Demand:
    feed = project.feeds[members[0].feed] if members[0].feed is not None else None
    rhythm = rhythms[feed.name] if feed is not None else None
    return Demand(
        unit=scheduled.name,
        target_lags={table.name: table.target_lag for table in members},
        priority=scheduled.priority,
        sources=project.graph.units.timed_sources(scheduled.name),
        period=max((table.period for table in members if table.period is not None), default=None),
        cost=scheduled.cost,
        known_by=known_by,
        arrival_jitter=0.0 if rhythm is None else rhythm.arrival_jitter,
        timestamp_jitter=0.0 if feed is None else None if rhythm is None else rhythm.timestamp_jitter,
        least_age=0.0 if rhythm is None else rhythm.least_age,
        held_back=0.0 if feed is None else _held_back(feed),
        bucket=max(table.shortest_bucket for table in members),
        update_stream=scheduled.update_stream,
        computes_whole=scheduled.computes_whole,
        is_reference=scheduled.reference,
        coarseness=max(_coarseness(project.graph, table) for table in members),
    )


def _held_back(feed: Feed) -> float:
    if feed.time.lateness is not None:
        return feed.time.lateness
    return math.inf if feed.is_punctuated else 0.0


def _coarseness(graph: TableGraph, table: Table) -> float:
    """A bucket closes when the buckets below it have: each level can be behind by one of its own."""
    if not table.emits_closed_buckets:
        return 0.0
    levels = (table, *(graph[name] for name in graph.ancestors(table.name)))
    return sum(level.grain.widths[1] for level in levels if level.grain is not None)
