"""Subflows and strata of the archetypes, and what holds for those of any flow (Karagiannis et al. 2013, section 5)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given

from freshtide.flows import Flow, FlowGraph, break_into_subflows, derive_strata
from freshtide.flows.policies import plan_mixed

from .archetypes import butterfly, fork, line, primary_flow, tree, wishbone
from .drawn import flows


def strata(flow: Flow) -> list[list[str]]:
    """Each stratum as its subflows, those as their activities."""
    graph = flow.graph()
    found = derive_strata(graph, break_into_subflows(graph))
    return [[" ".join(subflow.nodes) for subflow in stratum] for stratum in found]


def test_a_line_is_one_subflow() -> None:
    assert strata(line()) == [["a b c d e"]]


def test_the_sides_of_a_wishbone_run_side_by_side_before_its_join() -> None:
    assert strata(wishbone()) == [["a b", "c d"], ["e"], ["f"]]


def test_lookups_of_a_primary_flow_are_pipelined() -> None:
    assert strata(primary_flow()) == [["a b c d e"]]


def test_a_tree_pipes_the_first_input_of_a_hash_join_through_it_after_the_other_is_complete() -> None:
    assert strata(tree()) == [["d"], ["e"], ["a b c f g"]]


def test_a_fork_is_broken_at_its_router_and_where_it_aggregates() -> None:
    assert strata(fork()) == [["a b"], ["c"], ["d e", "f"], ["g"]]


def test_the_flow_of_figure_1_loads_the_warehouse_in_two_lines_and_its_views_one_after_the_other() -> None:
    assert strata(butterfly()) == [
        ["partsupp parts_not_null total_cost dw_partsupp", "supplier suppliers_not_null phone_format dw_supplier"],
        ["join"],
        ["dw_join", "aggregate1"],
        ["view1", "aggregate2"],
        ["view2", "aggregate3"],
        ["view3", "aggregate4"],
        ["view4"],
    ]


@pytest.mark.parametrize(("theta", "policy"), [(2, "minimum-memory"), (3, "minimum-cost")])
def test_more_memory_intensive_activities_than_theta_are_run_so_as_to_save_memory(theta: int, policy: str) -> None:
    (((planned),),) = plan_mixed(primary_flow().graph(), theta=theta)
    assert planned.policy == policy


@given(flows())
def test_every_activity_is_in_one_subflow_and_rows_go_from_earlier_strata_to_later_ones(graph: FlowGraph) -> None:
    subflows = break_into_subflows(graph)
    assert sorted(name for subflow in subflows for name in subflow.nodes) == sorted(graph.nodes)
    stratum_of = {
        name: number
        for number, stratum in enumerate(derive_strata(graph, subflows))
        for subflow in stratum
        for name in subflow.nodes
    }
    subflow_of = {name: subflow.number for subflow in subflows for name in subflow.nodes}
    for edge in graph.edges:
        if subflow_of[edge.producer] != subflow_of[edge.consumer]:
            assert stratum_of[edge.producer] < stratum_of[edge.consumer]


@given(flows())
def test_rows_are_piped_within_a_subflow(graph: FlowGraph) -> None:
    for subflow in break_into_subflows(graph):
        inner = [edge for name in subflow.nodes for edge in graph[name].edges if edge.producer in subflow.nodes]
        for edge in inner:
            assert edge.number not in graph[edge.consumer].activity.whole_inputs
            assert subflow.nodes.index(edge.producer) < subflow.nodes.index(edge.consumer)
        if any(graph[name].activity.blocks or graph[name].activity.kind == "router" for name in subflow.nodes):
            assert len(subflow.nodes) == 1


@given(flows())
def test_the_first_stratum_holds_the_sources_and_each_other_one_waits_for_the_one_before(graph: FlowGraph) -> None:
    strata = derive_strata(graph, break_into_subflows(graph))
    for before, stratum in itertools.pairwise(strata):
        names = {name for subflow in before for name in subflow.nodes}
        for subflow in stratum:
            assert any(producer in names for name in subflow.nodes for producer, _ in graph[name].inputs)
