"""Bounds against what was seen: how stale the tables got in the last run, and what broke a promise that was broken.

A bound holds from the moment at which a table has caught up (Leontyev et al. 2010, theorems 2 and 3), as long as a run
goes on. It rests on costs as they were known when the run began.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from freshtide.catalog import Catalog, RunLock, UpdateRow
from freshtide.core.costs import CostModel
from freshtide.core.durations import format_duration
from freshtide.core.instants import format_instant
from freshtide.core.staleness import StalenessCurve, trailing_edge
from freshtide.core.tables import Table
from freshtide.observe import feed_healths, outage_story
from freshtide.planning.bounds import Bounds, Demand
from freshtide.planning.demands import demands_of
from freshtide.planning.turns import bounds_of
from freshtide.project import Project
from freshtide.runs import Places, last_beginning
from freshtide.scheduling import Adaptive, Beginning, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBound:
    """What was promised to a table, and how stale it got."""

    table: str
    bound: float
    observed: float | None
    """The largest staleness since it had caught up; None if it has not yet, in this run or the last one."""
    since: float | None
    defects: tuple[str, ...] = ()
    """Of a broken bound: what it rested on and was not so; sentences."""

    @property
    def is_broken(self) -> bool:
        return self.observed is not None and self.observed > self.bound

    def as_json(self) -> dict[str, Any]:
        return {
            "bound": self.bound,
            "observed": self.observed,
            "since": None if self.since is None else format_instant(self.since),
            "broken": self.is_broken,
            "defects": list(self.defects),
        }


def kept_bounds(project: Project, catalog: Catalog, now: float, *, run_going_on: bool) -> dict[str, KeptBound]:
    """Every table that the scheduler of the last run bounds; nothing where it bounds none, or there was no run."""
    places = Places(project)
    began = RunLock(places.lock).taken_at()
    beginning = last_beginning(places.trace)
    if began is None or beginning is None:
        return {}
    demands = _as_begun(demands_of(project, catalog).units, beginning)
    bounds = bounds_of(demands, beginning.policy, beginning.tracks)
    if not bounds.of:
        return {}
    run = _Run(project, catalog, demands, began=began, now=now, goes_on=run_going_on)
    found = {}
    for demand in demands:
        bound = bounds.of.get(demand.unit)
        for table in demand.target_lags if bound is not None else ():
            curve = run.curve(project.graph[table])
            kept = KeptBound(
                table=table,
                bound=bound or 0.0,
                observed=None if curve is None else curve.maximum,
                since=None if curve is None else curve.begun,
            )
            if kept.is_broken:
                kept = replace(kept, defects=tuple(run.defects(table, bounds, beginning.policy)))
            found[table] = kept
    return found


def _as_begun(demands: Sequence[Demand], beginning: Beginning) -> list[Demand]:
    """The tables with the costs that the run began with: that is what was promised by."""
    costs = {table.name: table.cost for table in beginning.tables}
    found = []
    for demand in demands:
        cost = costs.get(demand.unit, demand.cost)
        found.append(replace(demand, cost=cost, known_by="assumed" if cost == CostModel() else "learnt"))
    return found


class _Run:
    """The updates of a run, and the curves that follow from them."""

    def __init__(
        self, project: Project, catalog: Catalog, demands: Sequence[Demand], *, began: float, now: float, goes_on: bool
    ) -> None:
        self._project, self._catalog = project, catalog
        self._began, self._now, self._goes_on = began, now, goes_on
        self._until = now if goes_on else catalog.last_sign_of_life() or began
        self._demands = {table: demand for demand in demands for table in demand.target_lags}
        self._steps: dict[str, list[UpdateRow]] = {}
        joined = {name: row.since or began for name, row in catalog.tables.all().items()}
        for update in catalog.updates.done_since(began):
            # A table that was taken out in between has been promised something only since it is back.
            if update.finished_at is not None and update.finished_at < joined.get(update.table, began):
                continue
            if update.finished_at is not None and update.finished_at <= self._until and update.freshness is not None:
                self._steps.setdefault(update.table, []).append(update)
        self._curves: dict[str, StalenessCurve | None] = {}

    def curve(self, table: Table) -> StalenessCurve | None:
        """The staleness of a table from its first update on that left nothing to load; None before that."""
        if table.name not in self._curves:
            self._curves[table.name] = self._drawn(table)
        return self._curves[table.name]

    def _drawn(self, table: Table) -> StalenessCurve | None:
        curve: StalenessCurve | None = None
        for at, freshness in self._moments(table.name):
            if curve is not None:
                curve.refreshed(at, freshness)
            elif self._had_caught_up(table, at, freshness):
                curve = StalenessCurve(since=at, freshness=freshness)
        if curve is not None:
            curve.advance(self._until)
        return curve

    def _moments(self, table: str) -> Iterator[tuple[float, float]]:
        for update in self._steps.get(table, ()):
            assert update.finished_at is not None
            assert update.freshness is not None
            yield update.finished_at, update.freshness

    def _had_caught_up(self, table: Table, at: float, freshness: float) -> bool:
        if table.feed is not None:
            newest = self._catalog.arrivals.latest_timestamp(table.feed, arrived_by=at)
            return newest is None or freshness >= newest
        edges = []
        for source in table.timed_sources:
            drawn = self.curve(self._project.graph[source])
            if drawn is None or drawn.begun is None or drawn.begun > at or source not in self._demands:
                return False
            fresh = [reached for ended, reached in self._moments(source) if ended <= at]
            edges.append(fresh[-1] - self._demands[source].held_back)
        edge = trailing_edge(edges)
        return edge is not None and freshness >= edge - self._demands[table.name].coarseness

    def defects(self, table: str, bounds: Bounds, policy: Policy) -> Iterator[str]:
        """What a broken bound rested on and was not so, as far as anybody has written it down."""
        blamed = [*self._ailing_feeds(table), *self._slow_update(policy)]
        yield from blamed or bounds.rests_on
        if not blamed and not bounds.rests_on:
            yield "No outage and no update that took longer than was reserved is on record."

    def _ailing_feeds(self, table: str) -> Iterator[str]:
        graph = self._project.graph
        below = (graph[table], *(graph[name] for name in graph.ancestors(table)))
        feeds = sorted({found.feed for found in below if found.feed is not None})
        healths = feed_healths(self._project, self._catalog, self._now, run_going_on=self._goes_on, feeds=feeds)
        for name, health in healths.items():
            for outage in (health.outage, health.last_outage):
                if outage is not None and (outage.ended_at is None or outage.ended_at >= self._began):
                    yield outage_story(name, outage, self._now)
            if health.outage is None and health.sentence is not None:
                yield health.sentence

    def _slow_update(self, policy: Policy) -> Iterator[str]:
        """The update, of any table, that exceeded its reservation by most: all others had to wait for it."""
        units = {demand.unit: demand for demand in self._demands.values()}
        settings = policy.adaptive or Adaptive(costs="worst")
        reserved = {
            unit: settings.reserved_for(demand.cost, demand.pace + demand.stamp_spread)
            for unit, demand in units.items()
        }
        exceeded = [
            (update.seconds / reserved[self._demands[table].unit], table, update.seconds)
            for table, steps in self._steps.items()
            for update in steps
            if update.seconds is not None and table in self._demands
        ]
        excess, table, seconds = max(exceeded, default=(0.0, "", 0.0))
        if excess > 1.0:
            asked = format_duration(reserved[self._demands[table].unit])
            yield f"An update of '{table}' took {format_duration(seconds)}, and {asked} were reserved."
