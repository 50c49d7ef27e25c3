"""Whatever the policy, the queues and the budget: a flow gives what its activities give on whole lists."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.flows import POLICIES, FlowGraph, FlowPolicy, FlowRecord, Limits, Monitor, Node
from freshtide.flows.activities import OUT, Activity, Function, Read, Union
from freshtide.flows.policies import MinimumMemory

from .drawn import READ, ROWS, SEMI, SORT, TRIPLE, WRITE, flows
from .lists import ListWorker, Row, evaluate_flow

MAKERS: tuple[Callable[[], FlowPolicy], ...] = (*POLICIES.values(), lambda: MinimumMemory(slot=0.0))
SETTINGS = st.tuples(st.sampled_from(MAKERS), st.integers(1, 4), st.integers(1, 5), st.none() | st.integers(4, 40))
"""A policy, the rows of a pack, the packs of a queue and the budget."""


def run(graph: FlowGraph, worker: ListWorker, policy: FlowPolicy, limits: Limits) -> FlowRecord:
    ticks = itertools.count()
    return Monitor(graph, worker, policy, limits=limits, now=lambda: next(ticks) / 10).run()


@given(flows(), SETTINGS, st.data())
def test_a_flow_gives_what_its_activities_give_on_whole_lists(
    graph: FlowGraph, setting: tuple[Callable[[], FlowPolicy], int, int, int | None], data: st.DataObject
) -> None:
    policy, pack_rows, packs, memory = setting
    sources = {node.name: data.draw(ROWS, label=node.name) for node in graph if isinstance(node.activity, Read)}
    worker = ListWorker(sources=sources, pack_rows=pack_rows)
    record = run(graph, worker, policy(), Limits(packs=packs, memory=memory))

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
