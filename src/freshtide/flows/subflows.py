"""Breaking a flow into subflows that can be pipelined (Karagiannis et al. 2013, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from freshtide.flows.activities import Router
from freshtide.flows.graph import FlowGraph, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Subflow:
    """Activities that pass rows on to each other without storing them, sources first."""

    number: int
    nodes: tuple[str, ...]


def is_boundary(node: Node) -> bool:
    """Whether rows cannot be piped through: a router, or an activity that waits for the end of all its input.

    Recordsets, boundaries too, are no nodes here: what reads and writes them is.
    """
    return isinstance(node.activity, Router) or node.activity.blocks


def break_into_subflows(graph: FlowGraph) -> tuple[Subflow, ...]:
    """Algorithm BIS: each node is a subflow; merge those that hold mergeable nodes until nothing merges.

    Two adjacent nodes are mergeable if neither is a boundary, and if no other way leads from one to the other through a
    boundary: then the subflow would have to be finished before it could start.
    """
    subflow_of = {node.name: index for index, node in enumerate(graph)}
    merged = True
    while merged:
        merged = False
        for edge in graph.edges:
            one, other = subflow_of[edge.producer], subflow_of[edge.consumer]
            if one == other or is_boundary(graph[edge.producer]) or is_boundary(graph[edge.consumer]):
                continue
            if edge.number in graph[edge.consumer].activity.whole_inputs or _would_wait(graph, subflow_of, one, other):
                continue
            for name, index in subflow_of.items():
                if index == other:
                    subflow_of[name] = one
            merged = True
    return _numbered(graph, subflow_of)


def _would_wait(graph: FlowGraph, subflow_of: Mapping[str, int], one: int, other: int) -> bool:
    """Whether the second subflow waits for the first, or for a third one that rows of the first go through."""
    consumers: dict[int, set[int]] = {}
    for edge in graph.edges:
        producer, consumer = subflow_of[edge.producer], subflow_of[edge.consumer]
        consumers.setdefault(producer, set()).add(consumer)
        if (producer, consumer) == (one, other) and edge.number in graph[edge.consumer].activity.whole_inputs:
            return True
    # Through subflows, not through nodes: a subflow has to be finished as a whole.
    ahead = consumers[one] - {one, other}
    seen: set[int] = set()
    while ahead:
        third = ahead.pop()
        seen.add(third)
        ahead |= consumers.get(third, set()) - seen
    return other in seen


def _numbered(graph: FlowGraph, subflow_of: Mapping[str, int]) -> tuple[Subflow, ...]:
    order: dict[int, list[str]] = {}
    for node in graph:
        order.setdefault(subflow_of[node.name], []).append(node.name)
    return tuple(
        Subflow(number=number, nodes=tuple(_sources_first(graph, names))) for number, names in enumerate(order.values())
    )


def _sources_first(graph: FlowGraph, names: Sequence[str]) -> list[str]:
    found: list[str] = []
    waiting = list(names)
    while waiting:
        for name in waiting:
            if all(producer in found or producer not in names for producer, _ in graph[name].inputs):
                found.append(name)
                waiting.remove(name)
                break
    return found


def derive_strata(graph: FlowGraph, subflows: Sequence[Subflow]) -> tuple[tuple[Subflow, ...], ...]:
    """Algorithm DSISS: subflows by their longest distance from the sources. Those of a stratum can run in parallel."""
    subflow_of = {name: subflow.number for subflow in subflows for name in subflow.nodes}
    producers: dict[int, set[int]] = {subflow.number: set() for subflow in subflows}
    for edge in graph.edges:
        one, other = subflow_of[edge.producer], subflow_of[edge.consumer]
        if one != other:
            producers[other].add(one)
    strata: list[tuple[Subflow, ...]] = []
    placed: set[int] = set()
    while len(placed) < len(subflows):
        ready = tuple(s for s in subflows if s.number not in placed and producers[s.number] <= placed)
        assert ready, "a flow without cycles has subflows without cycles"
        strata.append(ready)
        placed.update(subflow.number for subflow in ready)
    return tuple(strata)
