"""Whether a column can reach the end of a flow, as far as its activities tell without being run."""

from __future__ import annotations

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
    """Whether what goes through an activity may have the column; only where it surely has not, False."""
    node = graph[name]
    made = _made(node.activity)
    if made is not None and column.lower() in {each.lower() for each in made}:
        return True
    if not _passes_on(node.activity):
        return made is None
    inputs = [may_have(graph, producer, column) for producer, _ in node.inputs]
    match node.activity:
        case Join(how="inner" | "left" | "right" | "full"):
            return any(inputs)
        case Union() | SortedUnion():
            return all(inputs)
    return inputs[0]


def _made(activity: Activity) -> tuple[str, ...] | None:
    """The columns that an activity makes itself; None where nobody can tell."""
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


def _passes_on(activity: Activity) -> bool:
    """Whether columns that come in go out as well, beside those that are made."""
    match activity:
        case Expression(only=only):
            return not only
    return not isinstance(activity, Read | Function | Aggregate | Pivot)
