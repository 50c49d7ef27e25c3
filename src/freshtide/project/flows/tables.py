"""How flows and the tables of a project fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from freshtide.core.errors import Origin, Problem, suggestion
from freshtide.core.sides import RESERVED_ENDINGS
from freshtide.flows import FlowGraph, Node, Recordset, written_recordsets
from freshtide.flows.activities import Read, SurrogateKey
from freshtide.project.feeds.columns import read_schema
from freshtide.project.flows.loads import is_the_load
from freshtide.project.notation.names import name_fault


def flow_table_problems(
    flows: Sequence[FlowGraph], tables: Iterable[str], *, loads: Mapping[str, str], spoiled: Iterable[str]
) -> list[Problem]:
    """Tables that flows write and read; `tables` are kept up to date by Freshtide, `spoiled` have their own problem.

    `loads` says which of the tables a flow is the load of, both in lower case.
    """
    kept = {name.lower() for name in tables}
    aside = [name + ending for name in kept for ending in RESERVED_ENDINGS]
    known = {name.lower(): name for name in (*kept, *aside, *spoiled)}
    known |= {
        target.table.lower(): target.table
        for flow in flows
        for node in flow
        for target in written_recordsets(node)
        if target.table is not None
    }
    return [
        *_shared_targets(flows, kept, loads),
        *(problem for flow in flows for node in flow for problem in _source_problems(node, known)),
    ]


def _shared_targets(flows: Sequence[FlowGraph], kept: set[str], loads: Mapping[str, str]) -> Iterator[Problem]:
    first: dict[tuple[str, str], tuple[FlowGraph, Node]] = {}
    for flow in flows:
        for node in flow:
            for target in written_recordsets(node):
                if target.table is not None and (fault := name_fault(target.table)):
                    yield Problem(message=fault[0], origin=node.origin, way_out=fault[1])
                what = f"The {node.activity.kind} '{node.name}' writes the {target.label}"
                own = is_the_load(node, loads.get(flow.name.lower()))
                if target.table is not None and target.table.lower() in kept and not own:
                    yield Problem(
                        message=f"{what}, which the project keeps up to date by its own declaration.",
                        origin=node.origin,
                        way_out="Write to a table of another name.",
                    )
                other, writer = first.setdefault(target.key, (flow, node))
                if other is not flow:
                    yield Problem(
                        message=f"{what}, and so does the {writer.activity.kind} '{writer.name}' of the flow "
                        f"'{other.name}'.",
                        origin=node.origin,
                        way_out=f"Let one flow write it, and the other read it: {_reading(target, node)}.",
                    )


def _reading(target: Recordset, node: Node) -> str:
    """How a flow takes what another one writes, which is written by one alone: nobody else's keys could be lost."""
    read = f"`read: {{table: {target.table}}}`" if target.table is not None else f"`read: {{files: {target.files}}}`"
    keys = node.activity.key if isinstance(node.activity, SurrogateKey) else ()
    return f"{read}, and a left join on [{', '.join(keys)}] in place of the {node.activity.kind}" if keys else read


def _source_problems(node: Node, known: dict[str, str]) -> Iterator[Problem]:
    if not isinstance(node.activity, Read):
        return
    source = node.activity.source
    if source.table is not None and source.table.lower() not in known:
        yield Problem(
            message=f"The read '{node.name}' reads the table '{source.table}', which nobody declares or writes.",
            origin=node.origin,
            way_out=suggestion(source.table, known.values()),
        )
    if source.schema is not None:
        origin = node.origin or Origin(file="flows")
        yield from read_schema(source.schema, lambda _: origin)[1]
