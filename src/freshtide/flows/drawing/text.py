"""Flows as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, cast

from freshtide.flows.activities import Activity, Recordset
from freshtide.flows.graph import FlowGraph, Node, port_label
from freshtide.flows.policies import plan_mixed

BLOCKS = "■"
"""Marks activities that wait for the end of all their input."""
LEGEND = f"{BLOCKS} waits for all of its input"


def draw_text(graph: FlowGraph) -> str:
    """Strata, their subflows and the activities of these, each with its kind and with what it takes rows from."""
    strata = plan_mixed(graph)
    subflows = sum(len(stratum) for stratum in strata)
    counts = (
        _counted(len(graph.nodes), "activity", "activities"),
        _counted(subflows, "subflow", "subflows"),
        _counted(len(strata), "stratum", "strata"),
    )
    lines = [f"{graph.name}: {', '.join(counts)}", ""]
    names = max(len(name) for name in graph.nodes)
    kinds = max(len(node.activity.kind) for node in graph)
    for number, stratum in enumerate(strata):
        lines.append(f"stratum {number}")
        for planned in stratum:
            lines.append(f"  subflow {planned.subflow.number}  {planned.policy}")
            for name in planned.subflow.nodes:
                node = graph[name]
                mark = BLOCKS if node.activity.blocks else " "
                told = [summary(node.activity), *_sources(node)]
                shown = "  ".join(part for part in told if part)
                lines.append(f"    {mark} {name:{names}}  {node.activity.kind:{kinds}}  {shown}".rstrip())
    return "\n".join([*lines, "", LEGEND])


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _sources(node: Node) -> Iterator[str]:
    if node.inputs:
        yield "← " + ", ".join(port_label(producer, port) for producer, port in node.inputs)


def summary(activity: Activity) -> str:
    """What an activity does, in a few words: its columns, conditions and places."""
    # Every kind is a dataclass, though what they have in common is not.
    said = (_said(getattr(activity, field.name)) for field in fields(cast(Any, activity)))
    return "; ".join(part for part in said if part)


def _said(value: object) -> str:
    match value:
        case Recordset():
            return value.label
        case str():
            return value
        case tuple():
            return ", ".join(map(str, value))
        case Mapping():
            return ", ".join(map(str, value))
    return ""
