"""What a scheduler starts from, as the catalog remembers it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from freshtide.catalog import Catalog, TableRow
from freshtide.core.costs import CostModel
from freshtide.core.cuts import Cuts
from freshtide.core.definitions import fingerprints
from freshtide.core.feeds import Feed
from freshtide.core.health import Rhythm
from freshtide.core.instants import micros, seconds
from freshtide.core.staleness import trailing_edge
from freshtide.core.tables import Table
from freshtide.guarantees import whole_buckets
from freshtide.project import Project
from freshtide.runs.rhythms import rhythm_of
from freshtide.scheduling import Beginning, Reach, Reconfiguration, RetryPolicy, ScheduledTable, Scheduler


def beginning_of(project: Project, catalog: Catalog, *, revised: Set[str] = frozenset()) -> Beginning:
    """What the project's scheduler starts from: freshness, costs and states as the catalog has them.

    `revised` are views whose sources have changed behind their backs.
    """
    settings = project.settings
    definitions = fingerprints(project.graph)
    known = catalog.tables.all()
    cuts = Cuts(project.graph)
    tables = []
    for unit, names in project.graph.units.items():
        members = [project.graph[name] for name in names]
        feed = project.feeds[members[0].feed] if members[0].feed is not None else None
        rhythm = _rhythm(project, catalog, feed)
        rows = [_current(table, known.get(table.name), definitions[table.name]) for table in members]
        tables.append(
            ScheduledTable(
                name=unit,
                sources=project.graph.units.sources(unit),
                priority=sum(table.priority for table in members),
                period=_period(project, members),
                target=min((table.target_lag for table in members if table.target_lag is not None), default=None),
                freshness=trailing_edge(row.freshness for row in rows),
                safe=trailing_edge(row.safe for row in rows),
                paused=any(row.status == "paused" for row in rows),
                failed=any(row.status == "failed" for row in rows),
                update_stream=any(project.graph.is_stale_by_waiting(name) for name in names),
                computes_whole=all(cuts.computes_whole(name) for name in names),
                reference=all(table.is_reference for table in members),
                revised_sources=not revised.isdisjoint(names),
                cost=_cost(project, catalog, unit, rows),
                arrival_jitter=rhythm.arrival_jitter if rhythm is not None else 0.0,
                timestamp_jitter=rhythm.timestamp_jitter or 0.0 if rhythm is not None else 0.0,
                stamp_spread=rhythm.stamp_spread if rhythm is not None else 0.0,
                held_back=0.0 if feed is None else feed.time.lateness or 0.0,
            )
        )
    retry = RetryPolicy(
        attempts=settings.retry.attempts, backoff=settings.retry.backoff, longest=settings.retry.longest
    )
    return Beginning(tables=tuple(tables), tracks=settings.tracks, policy=settings.policy, retry=retry)


def _period(project: Project, members: Sequence[Table]) -> float | None:
    period = max((table.period for table in members if table.period is not None), default=None)
    if period is None or project.settings.policy.adaptive is None:
        return period
    return whole_buckets(period, max(table.shortest_bucket for table in members))


def _rhythm(project: Project, catalog: Catalog, feed: Feed | None) -> Rhythm | None:
    """How regular a feed is. Phase counts as 0: tables are fresh when a run has caught up, whenever that is."""
    # Nobody else asks, and learning it reads hundreds of arrivals per feed.
    if feed is None or project.settings.policy.adaptive is None:
        return None
    known = rhythm_of(feed, catalog, poll=project.settings.poll)
    return None if known is None else known.rhythm


def _current(table: Table, row: TableRow | None, definition: str) -> TableRow:
    """What counts of a table's row: a view whose definition has changed is as good as never computed."""
    if row is None:
        return TableRow(name=table.name)
    if not table.is_derived or row.definition in {None, definition}:
        return row
    return replace(row, freshness=None, safe=None)


def _cost(project: Project, catalog: Catalog, unit: str, rows: Sequence[TableRow]) -> CostModel:
    if not project.graph.units.is_group(unit):
        return rows[0].cost
    learnt = catalog.groups.get(unit, project.graph.units[unit])
    if learnt is not None:
        return learnt
    # A new group is taken to cost what its tables cost one by one, until something is known of it.
    alphas, betas = zip(*(row.cost.coefficients for row in rows), strict=True)
    return CostModel.given(sum(alphas), sum(betas))


def reach_of(project: Project) -> Reach:
    """How far an update to a cut takes each unit of the project."""
    cuts = Cuts(project.graph)

    def reach(unit: str, cut: float) -> float | None:
        # All tables of a group get equally far.
        found = cuts.reach(project.graph.units[unit][0], micros(cut))
        return None if found is None else seconds(found)

    return reach


def scheduler_from(beginning: Beginning, reach: Reach) -> Scheduler:
    """A fresh scheduler that draws the random numbers of its policy's seed."""
    return beginning.scheduler(Scheduler, uniform=uniform_of(beginning), reach=reach)


def reconfigure(scheduler: Scheduler, change: Reconfiguration, reach: Reach) -> None:
    """Let a scheduler go on from a change; random numbers begin anew with the seed of the policy that it brings."""
    change.change(scheduler, uniform=uniform_of(change.after), reach=reach)


def uniform_of(beginning: Beginning) -> Callable[[], float]:
    """Numbers in [0, 1) that are the same for each scheduler that starts from here."""
    return random.Random(beginning.policy.seed).random
