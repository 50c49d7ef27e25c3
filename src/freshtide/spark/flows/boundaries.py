"""Where a part of a flow is cut out of it: staged rows that come in, and rows to be staged that go out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from freshtide.flows import Activity, FlowGraph, Node, Subflow, port_label
from freshtide.flows.activities import OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedInput(Activity):
    """Gives the rows that an activity outside has given."""

    kind = "staged_input"
    least_inputs, most_inputs = 0, 0
    producer: str
    port: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedOutput(Activity):
    """Takes the rows that activities outside will take."""

    kind = "staged_output"
    producer: str
    port: str

    @property
    def ports(self) -> tuple[str, ...]:
        return ()


def cut_out(graph: FlowGraph, subflow: Subflow) -> FlowGraph:
    """The subflow as a flow of its own."""
    inside = set(subflow.nodes)
    nodes: dict[str, Node] = {}
    for node in (graph[name] for name in subflow.nodes):
        for producer, port in node.inputs:
            if producer not in inside:
                name = _input_name(producer, port)
                nodes[name] = Node(name=name, activity=StagedInput(producer=producer, port=port))
        inputs = tuple(each if each[0] in inside else (_input_name(*each), OUT) for each in node.inputs)
        nodes[node.name] = Node(name=node.name, activity=node.activity, inputs=inputs, origin=node.origin)
    for producer, port in outputs_of(graph, subflow):
        name = f"{port_label(producer, port)} >"
        nodes[name] = Node(name=name, activity=StagedOutput(producer=producer, port=port), inputs=((producer, port),))
    return FlowGraph(name=graph.name, nodes=nodes)


def outputs_of(graph: FlowGraph, subflow: Subflow) -> Sequence[tuple[str, str]]:
    """The outputs of the subflow's activities that are taken outside of it."""
    inside = set(subflow.nodes)
    found = (
        (edge.producer, edge.port)
        for name in subflow.nodes
        for edge in graph.consumers(name)
        if edge.consumer not in inside
    )
    return tuple(dict.fromkeys(found))


def _input_name(producer: str, port: str) -> str:
    return f"> {port_label(producer, port)}"
