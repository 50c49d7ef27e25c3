"""How many rows went through each activity, from few numbers: what comes in must come out somewhere.

An activity that neither drops nor makes rows gives as many as it takes; a router's outputs add up to its input. So
most numbers follow from those that are known anyway: footers of source files, rows of the targets. Only the rest is
counted by Spark while it computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from freshtide.flows import FlowGraph, Port
from freshtide.flows.activities import Expression, NotNull, Router, Sort, SortedUnion, SurrogateKey, Union
from freshtide.spark.flows.schemas import in_order


@dataclass(frozen=True, slots=True)
class Balance:
    """The rows of some outputs together are as many as those of some others together."""

    ins: tuple[Port, ...]
    outs: tuple[Port, ...]

    def missing(self, known: Iterable[Port]) -> list[Port]:
        return [port for port in (*self.ins, *self.outs) if port not in known]


def balances(graph: FlowGraph) -> tuple[Balance, ...]:
    """Of the activities that keep all of their rows."""
    keeping = (Expression, SurrogateKey, Sort, Union, SortedUnion, NotNull, Router)
    return tuple(
        Balance(node.inputs, tuple((node.name, port) for port in node.activity.ports))
        for node in graph
        if isinstance(node.activity, keeping)
    )


def solved(all_balances: Iterable[Balance], known: Mapping[Port, int]) -> dict[Port, int]:
    """What is known and all that follows from it."""
    found = dict(known)
    waiting = list(all_balances)
    progress = True
    while progress:
        progress = False
        for balance in list(waiting):
            missing = balance.missing(found)
            # The same output may be an input twice, as of a union with itself.
            if len(set(missing)) > 1:
                continue
            waiting.remove(balance)
            if missing:
                (port, *_) = missing
                times = balance.ins.count(port) - balance.outs.count(port)
                rest = sum(found.get(each, 0) for each in balance.outs) - sum(
                    found.get(each, 0) for each in balance.ins
                )
                found[port] = rest // times
                progress = True
    return found


def to_count(graph: FlowGraph, known: Iterable[Port]) -> set[Port]:
    """The outputs that have to be counted for all others to follow."""
    all_balances = balances(graph)
    followed = solved(all_balances, dict.fromkeys(known, 0))
    chosen: set[Port] = set()
    # From the end: fewer rows are left there, and what is nearer to the sources follows.
    for node in reversed(list(in_order(graph))):
        for port in node.activity.ports:
            taken = bool(graph.consumers(node.name, port))
            if taken and (node.name, port) not in followed:
                chosen.add((node.name, port))
                followed = solved(all_balances, {**followed, (node.name, port): 0})
    return chosen
