"""Whether a column can reach the end of a flow, as far as its activities tell without being run."""

from __future__ import annotations

from graphlib import TopologicalSorter

from freshtide.flows.activities import (
    Activity,
    Aggregate,
    Expression,
    Function,
    Join,
    Pivot,
    Read,
    SortedUnion,
    SurrogateKey,
    Union,
)
from freshtide.flows.graph import FlowGraph


def may_have(graph: FlowGraph, name: str, column: str) -> bool:
    """Whether what goes through an activity may have the column: where nobody can tell, it may."""
    found: dict[str, bool] = {}
    producers = {node.name: [producer for producer, _ in node.inputs] for node in graph}
    for each in TopologicalSorter(producers).static_order():
        node = graph[each]
        found[each] = _gives(node.activity, column.lower(), [found[producer] for producer, _ in node.inputs])
    return found[name]


def _gives(activity: Activity, column: str, inputs: list[bool]) -> bool:
    """Whether a column may come out of an activity, from whether it may be in each of its inputs."""
    made = _made(activity)
    if made is None or column in {each.lower() for each in made}:
        return True
    match activity:
        case Read() | Aggregate() | Expression(only=True):
            return False
        case SurrogateKey(key=key) if column in {each.lower() for each in key}:
            return False
        case Join(how="inner" | "left" | "right" | "full"):
            return any(inputs)
        case Union() | SortedUnion():
            return all(inputs)
    return inputs[0]


def _made(activity: Activity) -> tuple[str, ...] | None:
    """The columns that an activity makes itself; None where they are not told."""
    match activity:
        case Read(source=source):
            return None if source.schema is None else tuple(source.schema)
        case Function() | Pivot():
            return None
        case Expression(columns=columns):
            return tuple(columns)
        case SurrogateKey(column=column):
            return (column,)
        case Aggregate(by=by, columns=columns):
            return (*by, *columns)
    return ()
