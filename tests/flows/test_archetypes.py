"""The archetypes over TPC-H data: how they are divided into subflows and strata."""

from __future__ import annotations

import pytest

from freshtide.core.errors import UsageError
from freshtide.flows import Flow, FlowGraph, break_into_subflows, derive_strata, flow_problems
from freshtide.flows.activities import Aggregate, Join, NotNull, Router, SortedUnion, SurrogateKey
from freshtide.flows.archetypes import (
    ARCHETYPES,
    COMBINATIONS,
    SELECTIVE,
    butterfly,
    fork,
    line,
    lines_butterfly,
    lines_fork,
    lines_tree,
    primary_flow,
    tree,
    wishbone,
)
from freshtide.flows.policies import plan_mixed

ALL = {**ARCHETYPES, **COMBINATIONS}


def strata(flow: Flow) -> list[list[str]]:
    """Each stratum as its subflows, those as their activities."""
    graph = flow.graph()
    found = derive_strata(graph, break_into_subflows(graph))
    return [[" ".join(subflow.nodes) for subflow in stratum] for stratum in found]


def count(graph: FlowGraph, kind: type) -> int:
    return sum(isinstance(node.activity, kind) for node in graph)


@pytest.mark.parametrize("name", ALL)
def test_archetypes_are_flows_without_problems_called_by_their_names(name: str) -> None:
    graph = ALL[name]("data").graph()
    assert (graph.name, flow_problems(graph)) == (name, [])


def test_all_archetypes_fit_into_one_warehouse() -> None:
    targets = [node.activity for name in ALL for node in ALL[name]("data").graph().writes]
    tables = [activity.target.table for activity in targets if hasattr(activity, "target")]
    assert len(tables) == len(targets) == len(set(tables))


@pytest.mark.parametrize("name", ALL)
def test_an_archetype_is_declared_in_the_flow_that_is_handed_in(name: str) -> None:
    own = Flow("own")
    assert ALL[name]("data", into=own) is own
    assert own.graph().nodes.keys() == ALL[name]("data").graph().nodes.keys()


def test_a_line_is_broken_at_its_aggregation() -> None:
    assert strata(line("data")) == [
        ["orders worthwhile with_customer years"],
        ["totals"],
        ["regulars customer_years"],
    ]


def test_the_sides_of_a_wishbone_run_side_by_side() -> None:
    assert strata(wishbone("data")) == [
        ["customer solvent phone_format", "orders settled years"],
        ["join"],
        ["dw_orders"],
    ]


def test_a_primary_flow_pipelines_its_surrogate_keys_and_saves_memory() -> None:
    graph = primary_flow("data").graph()
    ((planned,),) = plan_mixed(graph, theta=3)
    assert (count(graph, SurrogateKey), planned.policy) == (4, "minimum-memory")


def test_a_tree_completes_the_small_tables_before_it_pipes_the_large_one_through_its_joins() -> None:
    assert strata(tree("data")) == [
        ["customer segments", "nation names"],
        ["orders years join_customer join_nation"],
        ["totals"],
        ["nation_years"],
    ]


def test_a_fork_aggregates_side_by_side_behind_its_router() -> None:
    first, router, wing, targets = strata(fork("data"))
    assert (first, router) == (["orders with_customer years dw_orders"], ["by_status"])
    assert len(wing) == 7
    assert len(targets) == 6


def test_the_butterfly_of_figure_1_has_two_lines_a_join_and_views_by_successive_aggregations() -> None:
    assert strata(butterfly("data")) == [
        [
            "partsupp parts_not_null partsupp_quarantine total_cost dw_partsupp",
            "supplier suppliers_not_null supplier_quarantine phone_format dw_supplier",
        ],
        ["join"],
        ["dw_join", "aggregate1", "aggregate3"],
        ["view1", "aggregate2", "view3", "aggregate4"],
        ["view2", "view4"],
    ]


def test_the_extraction_of_figure_12_pipes_one_line_through_five_joins_after_the_other_lines() -> None:
    graph = lines_tree("data").graph()
    before, core = strata(lines_tree("data"))
    assert count(graph, Join) == 5
    # A source, and 8 to 12 operations of a long line or 3 to 6 of a short one; the nations come by themselves.
    assert [len(each.split()) - 1 for each in before] == [8, 8, 4, 4, 1]
    assert [each.startswith("lineitem") for each in core] == [True]


def test_the_cleansing_of_figure_12_has_a_body_of_a_sorted_union_and_two_aggregations() -> None:
    graph = lines_butterfly("data").graph()
    assert (count(graph, SortedUnion), count(graph, Aggregate)) == (1, 2)
    left, _, _, right = strata(lines_butterfly("data"))
    assert [len(each.split()) - 1 for each in left + right] == [5, 5, 4, 4]


def test_the_load_of_figure_12_forks_three_times_to_2_3_and_6_targets_by_14_lines() -> None:
    graph = lines_fork("data").graph()
    before, routers, behind = strata(lines_fork("data"))
    assert [len(graph.consumers(name)) for name in routers] == [2, 3, 6]
    assert count(graph, Router) == 3
    assert len(before) + len(behind) == 14


@pytest.mark.parametrize("name", SELECTIVE)
def test_only_flows_that_are_to_find_dirt_put_it_in(name: str) -> None:
    clean, dirty = SELECTIVE[name]("data").graph(), SELECTIVE[name]("data", selectivity=0.5).graph()
    soiled = dirty.nodes.keys() - clean.nodes.keys()
    assert soiled
    assert all(isinstance(graph_consumer(dirty, each), NotNull) for each in soiled)


def graph_consumer(graph: FlowGraph, name: str) -> object:
    """What takes the rows of an activity that one other takes them from."""
    (edge,) = graph.consumers(name)
    return graph[edge.consumer].activity


@pytest.mark.parametrize("selectivity", [-0.1, 1.1])
def test_a_share_that_is_none_is_refused(selectivity: float) -> None:
    with pytest.raises(UsageError, match="is no share"):
        butterfly("data", selectivity=selectivity)
