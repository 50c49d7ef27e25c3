"""Tables that flows make: what they write into, beside the tables that they load."""

from __future__ import annotations

from freshtide.core.tables import SqlQuery, Table
from freshtide.flows import FlowGraph, written_recordsets
from freshtide.project.declarations import Declarations
from freshtide.project.flows.loads import flows_that_load, is_the_load


def made_tables(declarations: Declarations) -> dict[str, Table]:
    """By name in lower case; of two flows that write one table, which is a problem of its own, the first has it.

    Views read them as they read reference tables: a flow has no time up to which what it writes is complete.
    """
    loads = flows_that_load(declarations)
    found: dict[str, Table] = {}
    for flow in declarations.flows.values():
        for name in _written_beside(flow, loads.get(flow.name.lower())):
            key = name.lower()
            if key not in declarations.tables and key not in declarations.feeds and key not in declarations.spoiled:
                found.setdefault(key, _made(name, flow))
    return found


def _made(name: str, flow: FlowGraph) -> Table:
    return Table(
        name=name, query=SqlQuery(text="", references=()), made_by=flow.name, is_reference=True, origin=flow.origin
    )


def _written_beside(flow: FlowGraph, loaded: str | None) -> list[str]:
    return [
        target.table
        for node in flow
        if not is_the_load(node, loaded)
        for target in written_recordsets(node)
        if target.table is not None
    ]
