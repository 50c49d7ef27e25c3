"""Which results of a flow are kept because several activities take them, when whole subflows are fused."""

from __future__ import annotations

import re
from collections.abc import Iterable

from freshtide.flows import Activity, FlowGraph, Node, Port
from freshtide.flows.activities import Expression, Filter, NotNull, Read, Router, SurrogateKey, Union
from freshtide.spark.flows.schemas import in_order

# Row by row and without functions of the user's: to compute these again takes less than to keep what they give.
_CHEAP = (Filter, NotNull, Expression, Router, Union)
# Computed again, and divided otherwise, these give something else: whoever takes it must take the same.
_AT_RANDOM = re.compile(
    r"\b(rand|randn|random|randstr|uniform|uuid|shuffle|monotonically_increasing_id)\s*\(", re.IGNORECASE
)


def ports_to_keep(graph: FlowGraph) -> set[Port]:
    """Outputs that would be computed more than once, if computing them takes more than a scan of columnar files."""
    kept: set[Port] = set()
    dear: set[Port] = set()
    for node in in_order(graph):
        if _is_dear(node) or any(port in dear for port in node.inputs):
            dear.update((node.name, port) for port in node.activity.ports)
        for port in node.activity.ports:
            if (node.name, port) in dear and _times_computed(graph, node.name, port) > 1:
                kept.add((node.name, port))
                dear.remove((node.name, port))
    return kept


def lineage(graph: FlowGraph, node: Node, kept: Iterable[Port]) -> tuple[str, ...]:
    """The activities that are computed with one, back to results that are kept; producers first."""
    found = {node.name}
    waiting = [node]
    while waiting:
        for producer, port in waiting.pop().inputs:
            if (producer, port) not in kept and producer not in found:
                found.add(producer)
                waiting.append(graph[producer])
    return tuple(each.name for each in in_order(graph) if each.name in found)


def _is_dear(node: Node) -> bool:
    activity = node.activity
    if isinstance(activity, Read):
        if activity.source.feed is not None:
            return True  # What arrived is read once: all targets get the same of it.
        # Text has to be parsed each time, all columns of it.
        return activity.source.table is None and activity.source.format not in {"parquet", "orc"}
    return not isinstance(activity, _CHEAP) or any(_AT_RANDOM.search(text) for text in _texts(activity))


def _texts(activity: Activity) -> Iterable[str]:
    match activity:
        case Filter(condition=condition):
            return (condition,)
        case Expression(columns=texts) | Router(routes=texts):
            return texts.values()
    return ()


def _times_computed(graph: FlowGraph, name: str, port: str) -> int:
    """An activity asks for its input once for each output, and to assign keys once more."""
    times = 0
    for edge in graph.consumers(name, port):
        consumer = graph[edge.consumer]
        taken = sum(bool(graph.consumers(consumer.name, each)) for each in consumer.activity.ports)
        times += max(1, taken) + isinstance(consumer.activity, SurrogateKey)
    return times
