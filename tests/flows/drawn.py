"""Flows drawn at random, of activities that can be computed on lists."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from freshtide.flows import FlowGraph, Node, Recordset
from freshtide.flows.activities import (
    Activity,
    Aggregate,
    Difference,
    Filter,
    Function,
    Join,
    NotNull,
    Read,
    Router,
    Sort,
    Union,
    Write,
)

from .lists import Row


def tripled(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows for _ in range(3)]


READ = Read(source=Recordset(table="somewhere"))
WRITE = Write(target=Recordset(table="elsewhere"))
TRIPLE = Function(function=tripled, name="tripled")
HASH, MERGE = Join(on=("key",)), Join(on=("key",), method="sort-merge")
SEMI, ANTI = Join(on=("key",), how="semi"), Join(on=("key",), how="anti")
SORT = Sort(by=("key", "value"))
UNARY: tuple[Activity, ...] = (
    Filter(condition="key < 2"),
    NotNull(columns=("value",)),
    TRIPLE,
    SORT,
    Aggregate(by=("key",), columns={"value": "count(*)"}),
    Router(routes={"low": "key < 2", "three": "key = 3"}),
)
BINARY: tuple[Activity, ...] = (HASH, MERGE, SEMI, ANTI, Difference(on=("key",)), Union())
MULTIPLYING = (TRIPLE, HASH, MERGE)
"""Two of these at most in a flow: its rows are computed again by brute force."""
ROWS = st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(0, 9)), max_size=8)


@st.composite
def flows(draw: st.DrawFn) -> FlowGraph:
    """A flow in which every activity takes from any before it, declared in any order."""
    nodes = [Node(name=f"read{number}", activity=READ) for number in range(draw(st.integers(1, 3)))]
    multiplying = 0
    for number in range(draw(st.integers(0, 7))):
        activity = draw(st.sampled_from((*UNARY, *BINARY)))
        multiplying += activity in MULTIPLYING
        if multiplying > 2 and activity in MULTIPLYING:
            continue
        free = [(node.name, port) for node in nodes for port in node.activity.ports]
        inputs = draw(
            st.lists(st.sampled_from(free), min_size=activity.least_inputs, max_size=activity.most_inputs or 3)
        )
        nodes.append(Node(name=f"{activity.kind}{number}", activity=activity, inputs=tuple(inputs)))
    taken = {each for node in nodes for each in node.inputs}
    for node in tuple(nodes):
        for port in node.activity.ports:
            must = port not in node.activity.optional_ports
            if (node.name, port) not in taken and (must or draw(st.booleans())):
                nodes.append(Node(name=f"write_{node.name}_{port}", activity=WRITE, inputs=((node.name, port),)))
    return FlowGraph(name="random", nodes={node.name: node for node in draw(st.permutations(nodes))})
