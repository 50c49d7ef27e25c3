"""The archetypes over TPC-H data give what plain Spark queries give, whatever the policy and the queues."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from bench.plain_flows import PLAIN, name_sources

from freshtide.flows import Limits
from freshtide.flows.archetypes import ARCHETYPES, COMBINATIONS, SELECTIVE
from freshtide.spark.experiments import tpch_data
from tests.examples import slow_except

from .flowbench import FlowBench

SCALE = 0.001
# Of 6,000 rows at most: several packs of the large tables, and less than one of the small ones.
PACK_ROWS = 700
POLICIES = ("rr", "mc", "mm", "mp")
TINY, LARGE = 1, 100
SELECTIVITY = 0.7
KEYS = {"customer": "o_custkey", "clerk": "o_clerk", "priority": "o_orderpriority", "status": "o_orderstatus"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tpch_data(SCALE, cache=tmp_path_factory.mktemp("tpch"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHETYPES)
def test_an_archetype_under_the_mixed_policy_gives_the_rows_of_plain_queries(
    name: str, bench: FlowBench, data: Path
) -> None:
    assert_as_by_hand(bench, data, name, "mp", packs=TINY)


@pytest.mark.slow
@pytest.mark.parametrize("packs", [TINY, LARGE])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ARCHETYPES)
def test_an_archetype_gives_the_rows_of_plain_queries_under_every_policy_with_any_queues(
    name: str, policy: str, packs: int, bench: FlowBench, data: Path
) -> None:
    assert_as_by_hand(bench, data, name, policy, packs=packs)


@pytest.mark.parametrize("name", slow_except(COMBINATIONS))
def test_a_combination_under_the_mixed_policy_gives_the_rows_of_plain_queries(
    name: str, bench: FlowBench, data: Path
) -> None:
    assert_as_by_hand(bench, data, name, "mp", packs=LARGE, theta=6)


@pytest.mark.slow
@pytest.mark.parametrize("packs", [TINY, LARGE])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_combination_gives_the_rows_of_plain_queries_under_every_policy_with_any_queues(
    name: str, policy: str, packs: int, bench: FlowBench, data: Path
) -> None:
    assert_as_by_hand(bench, data, name, policy, packs=packs)


def assert_as_by_hand(bench: FlowBench, data: Path, name: str, policy: str, *, packs: int, theta: int = 2) -> None:
    """Run a flow, and hold all of its targets against the queries; where it can be, its sources are dirty."""
    if name in SELECTIVE:
        graph = SELECTIVE[name](str(data), selectivity=SELECTIVITY).graph()
    else:
        graph = {**ARCHETYPES, **COMBINATIONS}[name](str(data)).graph()
    report = bench.run(graph, policy=policy, limits=Limits(packs=packs), pack_rows=PACK_ROWS, theta=theta)
    session = bench.spark.newSession()
    name_sources(session, data, selectivity=SELECTIVITY if name in SELECTIVE else 1.0)
    assert {f"table {target}" for target in PLAIN[name]} == report.targets.keys()
    for target, query in PLAIN[name].items():
        found = bench.frame(target)
        if target == "primary_flow_orders":
            found = with_production_keys(bench, found)
        expected = session.sql(query)
        rows = Counter(map(tuple, expected.collect()))
        assert Counter(found.select(expected.columns).rows()) == rows, target
        assert report.targets[f"table {target}"] == rows.total(), target


def with_production_keys(bench: FlowBench, orders: pl.DataFrame) -> pl.DataFrame:
    """Surrogate keys led back by their lookup tables, in which each key is there once and numbered without a gap."""
    for what, key in KEYS.items():
        lookup = bench.frame(f"primary_flow_{what}_keys")
        assert sorted(lookup[f"{what}_sk"]) == list(range(1, lookup.height + 1)), what
        assert lookup[key].n_unique() == lookup.height, what
        orders = orders.join(lookup, on=f"{what}_sk")
    return orders
