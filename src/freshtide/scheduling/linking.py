"""Tables that know their sources, their dependents, and what they inherit from these."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Sequence

from freshtide.scheduling.conditions import TableStatus
from freshtide.scheduling.estimates import KnownCosts
from freshtide.scheduling.inheritance import Inheritance, inherited_targets
from freshtide.scheduling.known import KnownTable, known_table
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.scheduled import TARGET_PERIODS, ScheduledTable


def linked_tables(
    tables: Sequence[ScheduledTable],
    policy: Policy,
    *,
    ages: bool,
    reach: Callable[[str, float], float | None] | None,
) -> list[KnownTable]:
    """All tables as they are known at the start, in the order of their declaration. They inherit nothing yet."""
    costs = KnownCosts()
    known = {
        table.name: known_table(table, place, chopping=policy.chopping, ages=ages, costs=costs, reach=reach)
        for place, table in enumerate(tables)
    }
    for table in known.values():
        table.sources = [known[source] for source in dict.fromkeys(table.spec.sources)]
        table.timed_sources = [source for source in table.sources if not source.spec.reference]
        table.references = [source for source in table.sources if source.spec.reference]
        for source in table.sources:
            source.dependents.append(table)
    for table in known.values():
        table.plain = policy.adaptive is None and _is_plain(table)
    return list(known.values())


def inherit(tables: Sequence[KnownTable], inheritance: Inheritance) -> list[KnownTable]:
    """Give each table the priority and the target that its dependents pass on to it; those for whom they have changed.

    One that takes no part passes nothing on, neither what is its own nor what it inherits: however fresh its sources
    are, nobody has anything of that until it is back.
    """
    by_name = {table.name: table for table in tables}
    names = list(graphlib.TopologicalSorter({table.name: table.spec.sources for table in tables}).static_order())
    heirs = {name: heirs_of(table) for name, table in by_name.items()}
    priorities = inheritance.priorities({name: by_name[name].spec.priority for name in names}, heirs)
    targets = inherited_targets({name: by_name[name].spec.target for name in names}, heirs)
    changed = []
    for table in tables:
        candidate, target = table.candidate, targets[table.name]
        inherited = priorities[table.name], TARGET_PERIODS * candidate.period if target is None else target
        if inherited != (candidate.priority, candidate.target):
            candidate.priority, candidate.target = inherited
            changed.append(table)
    return changed


def heirs_of(table: KnownTable) -> list[str]:
    """The direct dependents that pass on to a table: those that take part."""
    return [other.name for other in table.dependents if other.condition.status is TableStatus.ACTIVE]


def _is_plain(table: KnownTable) -> bool:
    return table.condition.able and not (
        table.sources
        or table.dependents
        or table.estimate.learns
        or table.spec.update_stream
        or table.condition.first_load
        or table.pending.revision_wanted
    )
