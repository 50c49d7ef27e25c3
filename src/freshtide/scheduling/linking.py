"""Tables that know their sources, their dependents, and what priority they inherit."""

from __future__ import annotations

import graphlib
from collections.abc import Sequence

from freshtide.scheduling.doubts import KnownCosts
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.states import ScheduledTable, TableState, initial_state


def linked_states(tables: Sequence[ScheduledTable], policy: Policy) -> dict[str, TableState]:
    """The states of all tables at the start, in the order of their declaration."""
    by_name = {table.name: table for table in tables}
    dependents: dict[str, list[str]] = {table.name: [] for table in tables}
    for table in tables:
        for source in dict.fromkeys(table.sources):
            dependents[source].append(table.name)
    sources_first = graphlib.TopologicalSorter({table.name: table.sources for table in tables}).static_order()
    own = {name: by_name[name].priority for name in sources_first}
    priorities = policy.inheritance.priorities(own, dependents)
    known_costs = KnownCosts()
    states = {
        table.name: initial_state(
            table, place, priority=priorities[table.name], chopping=policy.chopping, known_costs=known_costs
        )
        for place, table in enumerate(tables)
    }
    for state in states.values():
        state.sources = [states[source] for source in dict.fromkeys(state.spec.sources)]
        state.dependents = [states[dependent] for dependent in dependents[state.table]]
        state.plain = state.able and not (
            state.sources
            or state.dependents
            or state.learns
            or state.update_stream
            or state.first_load
            or state.revision_wanted
        )
    return states
