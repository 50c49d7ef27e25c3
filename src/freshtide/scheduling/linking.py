"""Tables that know their sources, their dependents, and what priority they inherit."""

from __future__ import annotations

import graphlib
from collections.abc import Sequence

from freshtide.scheduling.estimates import KnownCosts
from freshtide.scheduling.known import KnownTable, known_table
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.scheduled import ScheduledTable


def linked_tables(tables: Sequence[ScheduledTable], policy: Policy) -> list[KnownTable]:
    """All tables as they are known at the start, in the order of their declaration."""
    by_name = {table.name: table for table in tables}
    dependents: dict[str, list[str]] = {table.name: [] for table in tables}
    for table in tables:
        for source in dict.fromkeys(table.sources):
            dependents[source].append(table.name)
    sources_first = graphlib.TopologicalSorter({table.name: table.sources for table in tables}).static_order()
    own = {name: by_name[name].priority for name in sources_first}
    priorities = policy.inheritance.priorities(own, dependents)
    costs = KnownCosts()
    known = {
        table.name: known_table(table, place, priority=priorities[table.name], chopping=policy.chopping, costs=costs)
        for place, table in enumerate(tables)
    }
    for name, linked in known.items():
        linked.sources = [known[source] for source in dict.fromkeys(linked.spec.sources)]
        linked.dependents = [known[dependent] for dependent in dependents[name]]
        linked.plain = policy.adaptive is None and _is_plain(linked)
    return list(known.values())


def _is_plain(table: KnownTable) -> bool:
    return table.condition.able and not (
        table.sources
        or table.dependents
        or table.estimate.learns
        or table.spec.update_stream
        or table.condition.first_load
        or table.pending.revision_wanted
    )
