"""Whatever the policy, the queues and the budget: a flow gives what its activities give on whole lists."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.flows import POLICIES, FlowGraph, FlowPolicy, FlowRecord, Limits, Monitor, Node, Recordset
from freshtide.flows.activities import (
    OUT,
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
from freshtide.flows.policies import MinimumMemory

from .lists import ListWorker, Row, evaluate_flow


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


POLICY = st.sampled_from([*POLICIES.values(), lambda: MinimumMemory(slot=0.0)]).map(lambda make: make())


def run(graph: FlowGraph, worker: ListWorker, policy: FlowPolicy, limits: Limits) -> FlowRecord:
    ticks = itertools.count()
    return Monitor(graph, worker, policy, limits=limits, now=lambda: next(ticks) / 10).run()


@given(
    graph=flows(),
    data=st.data(),
    policy=POLICY,
    pack_rows=st.integers(1, 4),
    packs=st.integers(1, 5),
    memory=st.none() | st.integers(4, 40),
)
def test_a_flow_gives_what_its_activities_give_on_whole_lists(
    graph: FlowGraph, data: st.DataObject, policy: FlowPolicy, pack_rows: int, packs: int, memory: int | None
) -> None:
    sources = {node.name: data.draw(ROWS, label=node.name) for node in graph if isinstance(node.activity, Read)}
    worker = ListWorker(sources=sources, pack_rows=pack_rows)
    record = run(graph, worker, policy, Limits(packs=packs, memory=memory))

    assert {node.name: Counter(worker.written[node.name]) for node in graph.writes} == evaluate_flow(graph, sources)
    assert not worker.living, "every pack is released"
    for node in graph:
        if node.inputs:
            given_to_it = sum(record.tallies[who].rows_out.get(port, 0) for who, port in node.inputs)
            assert record.tallies[node.name].rows_in == given_to_it
    assert sum(each.rows_in for each in record.activations) == sum(each.rows_in for each in record.tallies.values())
    assert record.memory[-1].packs == 0

    if memory is None:
        assert record.spilled_packs == 0 or record.grown_queues
        for sample in record.memory:
            for edge, size in sample.by_edge.items():
                assert edge in record.grown_queues or size <= packs * pack_rows
    else:
        assert record.maximum_size <= memory
        assert worker.most_in_memory <= memory


def graph_of(*nodes: Node) -> FlowGraph:
    return FlowGraph(name="flow", nodes={node.name: node for node in nodes})


def node(name: str, activity: Activity, *inputs: str) -> Node:
    return Node(name=name, activity=activity, inputs=tuple((each, OUT) for each in inputs))


FORKED_JOIN = graph_of(
    node("rows", READ), node("sort", SORT, "rows"), node("join", SEMI, "rows", "sort"), node("write", WRITE, "join")
)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_queue_grows_where_a_join_waits_for_rows_that_its_other_input_holds_up(policy: str) -> None:
    rows: list[Row] = [(key, key) for key in range(10)]
    worker = ListWorker(sources={"rows": rows}, pack_rows=1)
    record = run(FORKED_JOIN, worker, POLICIES[policy](), Limits(packs=2))
    assert worker.written["write"] == rows
    assert list(record.grown_queues) == ["rows -> join"]
    assert record.spilled_packs > 0
    assert all(sample.by_edge.get("rows -> join", 0) <= 2 for sample in record.memory), "the rest is on disk"


def test_one_pack_that_becomes_many_fills_a_queue_only_to_its_limit() -> None:
    graph = graph_of(
        node("rows", READ), node("once", TRIPLE, "rows"), node("twice", TRIPLE, "once"), node("write", WRITE, "twice")
    )
    worker = ListWorker(sources={"rows": [(1, 1), (2, 2)]}, pack_rows=1)
    record = run(graph, worker, POLICIES["minimum-cost"](), Limits(packs=1))
    assert Counter(worker.written["write"]) == {(1, 1): 9, (2, 2): 9}
    assert max(size for sample in record.memory for size in sample.by_edge.values()) == 1
    assert not record.grown_queues


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_stay_in_the_order_that_a_sort_gave_them(policy: str) -> None:
    graph = graph_of(
        node("rows", READ), node("sort", SORT, "rows"), node("pass", TRIPLE, "sort"), node("write", WRITE, "pass")
    )
    worker = ListWorker(sources={"rows": [(3, 1), (1, 2), (2, 0)]}, pack_rows=2)
    run(graph, worker, POLICIES[policy](), Limits(packs=1))
    assert [key for key, _ in worker.written["write"]] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_what_waits_is_released_when_an_activity_fails() -> None:
    def broken(_rows: Sequence[Row]) -> list[Row]:
        raise ValueError("no such row")

    failing = Function(function=broken, name="broken")
    graph = graph_of(node("rows", READ), node("broken", failing, "rows"), node("write", WRITE, "broken"))
    worker = ListWorker(sources={"rows": [(key, 0) for key in range(5)]}, pack_rows=1)
    with pytest.raises(ValueError, match="no such row"):
        run(graph, worker, POLICIES["round-robin"](), Limits(packs=4))
    assert not worker.living


def test_no_activity_is_activated_only_to_find_the_end_of_its_input() -> None:
    graph = graph_of(node("rows", READ), node("pass", TRIPLE, "rows"), node("write", WRITE, "pass"))
    worker = ListWorker(sources={"rows": [(1, 1)] * 4}, pack_rows=2)
    record = run(graph, worker, POLICIES["round-robin"](), Limits(packs=100))
    assert [(each.node, each.rows_in) for each in record.activations] == [("rows", 4), ("pass", 4), ("write", 12)]


def test_minimum_cost_begins_with_the_largest_source() -> None:
    graph = graph_of(
        node("small", READ), node("large", READ), node("all", Union(), "small", "large"), node("write", WRITE, "all")
    )
    worker = ListWorker(sources={"small": [(1, 1)], "large": [(2, 2)] * 9}, pack_rows=1)
    record = run(graph, worker, POLICIES["minimum-cost"](), Limits(packs=100))
    assert record.activations[0].node == "large"


def test_minimum_memory_does_not_count_rows_put_aside_as_memory_to_be_gained_by_giving_them_back() -> None:
    graph = graph_of(node("rows", READ), node("sort", SORT, "rows"), node("write", WRITE, "sort"))
    worker = ListWorker(sources={"rows": [(1, 1)] * 40}, pack_rows=1)
    record = run(graph, worker, MinimumMemory(slot=0.0), Limits(packs=100))
    # Before the write has run, the larger queue decides; from then on it frees memory and goes first.
    assert max(sample.by_edge.get("sort -> write", 0) for sample in record.memory) <= 40 / 2 + 1
