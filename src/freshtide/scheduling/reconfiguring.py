"""From one set of tables to another while updates run: what is known of those that stay goes with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from freshtide.scheduling.conditions import NOT_RUNNING, TableStatus
from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.linking import linked_tables
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.scheduled import ScheduledTable


def taken_over(
    tables: Sequence[ScheduledTable],
    policy: Policy,
    *,
    before: Mapping[str, KnownTable],
    redefined: Collection[str],
    ages: bool,
    reach: Callable[[str, float], float | None] | None,
) -> list[KnownTable]:
    """The tables as they are known from now on, in the order of their declaration.

    Of one that was there before, state and costs are what they have become. `redefined` are to be computed anew. Those
    that are gone and still run come last, without any ties to the others: they leave when their updates end.
    """
    declared = {table.name for table in tables}
    leaving = [
        replace(known.spec, sources=(), cost=known.estimate.model)
        for name, known in before.items()
        if name not in declared and known.condition.track != NOT_RUNNING
    ]
    staying = [_with_what_was_learnt(table, before.get(table.name)) for table in tables]
    found = linked_tables([*staying, *leaving], policy, ages=ages, reach=reach)
    for table in found:
        if table.name in before:
            _take_over(table, before[table.name])
            if table.name in redefined:
                table.redefine()
    for table in found[len(staying) :]:
        table.change(TableStatus.LEAVING, None)
    return found


def _with_what_was_learnt(table: ScheduledTable, before: KnownTable | None) -> ScheduledTable:
    if before is None or not (before.estimate.learns and table.cost.learns):
        return table
    return replace(table, cost=before.estimate.model)


def _take_over(table: KnownTable, before: KnownTable) -> None:
    declared = table.condition.status
    table.pending, table.condition = before.pending, before.condition
    if before.condition.status is TableStatus.LEAVING:
        # It is declared again before its update has ended.
        table.change(declared, None)
    candidate, running = table.candidate, before.candidate
    candidate.released_at, candidate.due = running.released_at, running.due
    candidate.upto, candidate.delta, candidate.cost = running.upto, running.delta, running.cost
    # Whatever it has been through, this is always right.
    table.plain = False
