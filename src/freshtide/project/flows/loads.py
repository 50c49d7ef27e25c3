"""Flows that load base tables: whether a table, its feed and its flow fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from freshtide.core.errors import Problem, suggestion
from freshtide.core.tables import Table
from freshtide.flows import FlowGraph, Node, may_have
from freshtide.flows.activities import Read, Write
from freshtide.project.declarations import Declarations


def flows_that_load(declarations: Declarations) -> dict[str, str]:
    """The first table that names each flow, both in lower case."""
    found: dict[str, str] = {}
    for table in declarations.tables.values():
        if table.properties.flow is not None:
            found.setdefault(table.properties.flow.lower(), table.name.lower())
    return found


def is_the_load(node: Node, table: str | None) -> bool:
    """Whether an activity writes the rows of the table that its flow loads."""
    activity = node.activity
    return isinstance(activity, Write) and table is not None and activity.target.key == ("table", table.lower())


def flow_load_problems(declarations: Declarations, tables: Mapping[str, Table]) -> list[Problem]:
    """Everything that is wrong between tables and the flows that they name, and with flows that read feeds."""
    loads = flows_that_load(declarations)
    by_name = {table.name.lower(): table for table in tables.values()}
    problems = [
        problem
        for table in tables.values()
        if table.flow is not None
        for problem in _table_problems(table, table.flow, declarations, loads)
    ]
    for flow in declarations.flows.values():
        for node in flow:
            problems += _read_problems(flow, node, declarations, loads.get(flow.name.lower()), by_name)
    return problems


def _table_problems(
    table: Table, named: str, declarations: Declarations, loads: Mapping[str, str]
) -> Iterator[Problem]:
    flow = declarations.flows.get(named.lower())
    if flow is None:
        if named.lower() not in declarations.spoiled_flows:
            yield Problem(
                message=f"'{table.name}' is loaded by the flow '{named}', which does not exist.",
                origin=table.origin,
                way_out=suggestion(named, (each.name for each in declarations.flows.values())),
            )
    elif (first := loads[named.lower()]) != table.name.lower():
        yield Problem(
            message=f"'{table.name}' is loaded by the flow '{flow.name}', and so is "
            f"'{declarations.tables[first].name}'.",
            origin=table.origin,
            way_out="A flow loads one table: give each table a flow of its own, or let views read the first one.",
        )
    else:
        yield from _fitting_problems(table, flow)


def _fitting_problems(table: Table, flow: FlowGraph) -> Iterator[Problem]:
    """A read of the feed and a write to the table, each once, and between them the time column."""
    reads = [node for node in flow if isinstance(node.activity, Read) and _feed_of(node) == str(table.feed).lower()]
    if not reads:
        yield Problem(
            message=f"The flow '{flow.name}' loads '{table.name}', but it does not read the feed '{table.feed}'.",
            origin=flow.origin,
            way_out=f"Let it read what arrives: `read: {{feed: {table.feed}}}`.",
        )
    for node in reads[1:]:
        yield Problem(
            message=f"The read '{node.name}' reads the feed '{table.feed}', and so does '{reads[0].name}'.",
            origin=node.origin,
            way_out=f"Take the rows from '{reads[0].name}': they can be taken more than once.",
        )
    writes = [node for node in flow if is_the_load(node, table.name)]
    if not writes:
        yield Problem(
            message=f"The flow '{flow.name}' loads '{table.name}', but it does not write to that table.",
            origin=flow.origin,
            way_out=f"End it with `write: {{table: {table.name}}}`.",
        )
    for node in writes:
        yield from _write_problems(table, flow, node)


def _write_problems(table: Table, flow: FlowGraph, node: Node) -> Iterator[Problem]:
    assert isinstance(node.activity, Write), "only a write is the load of a table"
    if node.activity.mode == "overwrite":
        yield Problem(
            message=f"The write '{node.name}' overwrites '{table.name}', and each update of that adds to it.",
            origin=node.origin,
            way_out="Take the mode out.",
        )
    if table.time_column is not None and not may_have(flow, node.name, table.time_column):
        yield Problem(
            message=f"The rows that '{node.name}' writes to '{table.name}' lack its time column '{table.time_column}'.",
            origin=node.origin,
            way_out="Keep the column on the way.",
        )


def _read_problems(
    flow: FlowGraph, node: Node, declarations: Declarations, table: str | None, tables: Mapping[str, Table]
) -> Iterator[Problem]:
    """A feed is read by the load of a table that reads it, and by nothing else."""
    feed = _feed_of(node)
    if feed is None or feed in declarations.spoiled:
        return
    known = declarations.feeds.get(feed)
    if known is None:
        yield Problem(
            message=f"The read '{node.name}' reads the feed '{feed}', which does not exist.",
            origin=node.origin,
            way_out=suggestion(feed, (each.name for each in declarations.feeds.values())),
        )
    elif table is None:
        yield Problem(
            message=f"The read '{node.name}' reads the feed '{known.name}', but no table is loaded by the flow "
            f"'{flow.name}'.",
            origin=node.origin,
            way_out=f"Write TBLPROPERTIES ('flow'='{flow.name}') into the streaming table of the feed, or read files.",
        )
    elif table in tables and tables[table].feed != known.name:
        yield Problem(
            message=f"The read '{node.name}' reads the feed '{known.name}', but '{tables[table].name}' is loaded from "
            f"'{tables[table].feed}'.",
            origin=node.origin,
            way_out="Read a table that the feed is loaded into.",
        )


def _feed_of(node: Node) -> str | None:
    named = node.activity.source.feed if isinstance(node.activity, Read) else None
    return None if named is None else named.lower()
