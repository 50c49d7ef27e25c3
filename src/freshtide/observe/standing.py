"""What a scheduler starts from, as the catalog remembers it."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

from freshtide.catalog import Catalog
from freshtide.core.costs import CostModel
from freshtide.core.cuts import Cuts
from freshtide.core.definitions import fingerprints
from freshtide.core.instants import micros, seconds
from freshtide.project import Project
from freshtide.scheduling import Beginning, Reach, RetryPolicy, ScheduledTable, Scheduler


def beginning_of(project: Project, catalog: Catalog, *, revised: Collection[str] = ()) -> Beginning:
    """What the project's scheduler starts from: freshness, costs and states as the catalog has them.

    `revised` are views whose sources have changed behind their backs.
    """
    settings = project.settings
    definitions = fingerprints(project.graph)
    rows = catalog.tables.all()
    tables = []
    for table in project.graph.values():
        row = rows.get(table.name)
        # A view whose definition has changed is as good as never computed.
        current = row is not None and (table.is_base or row.definition in {None, definitions[table.name]})
        tables.append(
            ScheduledTable(
                name=table.name,
                sources=table.sources,
                priority=table.priority,
                period=table.period,
                freshness=row.freshness if row and current else None,
                safe=row.safe if row and current else None,
                paused=row is not None and row.status == "paused",
                failed=row is not None and row.status == "failed",
                revised_sources=table.name in revised,
                cost=row.cost if row else CostModel(),
            )
        )
    retry = RetryPolicy(
        attempts=settings.retry.attempts, backoff=settings.retry.backoff, longest=settings.retry.longest
    )
    return Beginning(tables=tuple(tables), tracks=settings.tracks, policy=settings.policy, retry=retry)


def reach_of(project: Project) -> Reach:
    """How far an update to a cut takes each table of the project."""
    cuts = Cuts(project.graph)

    def reach(name: str, cut: float) -> float | None:
        found = cuts.reach(name, micros(cut))
        return None if found is None else seconds(found)

    return reach


def scheduler_from(beginning: Beginning, reach: Reach) -> Scheduler:
    """A fresh scheduler that draws the random numbers of its policy's seed."""
    return beginning.scheduler(Scheduler, uniform=uniform_of(beginning), reach=reach)


def uniform_of(beginning: Beginning) -> Callable[[], float]:
    """Numbers in [0, 1) that are the same for each scheduler that starts from here."""
    return random.Random(beginning.policy.seed).random
