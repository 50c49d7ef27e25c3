"""The archetypes over TPC-H data give what plain Spark queries give, whatever the policy and the queues."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.plain_flows import PLAIN, name_sources
from freshtide.flows import Limits
from freshtide.flows.archetypes import ARCHETYPES, COMBINATIONS, SELECTIVE
from freshtide.spark import DataFrame, SparkSession
from freshtide.spark.experiments import tpch_data
from freshtide.spark.flows import SHORT_NAMES, run_flow
from freshtide.spark.reading import read_files
from freshtide.storage import Store

SCALE = 0.001
# Of 6,000 rows at most: several packs of the large tables, and less than one of the small ones.
PACK_ROWS = 700
TINY, LARGE = Limits(packs=1), Limits(packs=100)
SELECTIVITY = 0.7
KEYS = {"customer": "o_custkey", "clerk": "o_clerk", "priority": "o_orderpriority", "status": "o_orderstatus"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tpch_data(SCALE, cache=tmp_path_factory.mktemp("tpch"))


@pytest.mark.parametrize("policy", SHORT_NAMES)
@pytest.mark.parametrize("name", ARCHETYPES)
def test_an_archetype_through_tiny_queues_gives_the_rows_of_plain_queries(
    name: str, policy: str, spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    check(name, policy, TINY, spark, data, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("policy", SHORT_NAMES)
@pytest.mark.parametrize("name", ARCHETYPES)
def test_an_archetype_through_large_queues_gives_the_rows_of_plain_queries(
    name: str, policy: str, spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    check(name, policy, LARGE, spark, data, tmp_path)


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_combination_under_the_mixed_policy_gives_the_rows_of_plain_queries(
    name: str, spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    check(name, "mp", LARGE, spark, data, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("limits", [TINY, LARGE], ids=["tiny", "large"])
@pytest.mark.parametrize("policy", ["rr", "mc", "mm"])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_combination_gives_the_rows_of_plain_queries(
    name: str, policy: str, limits: Limits, spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    check(name, policy, limits, spark, data, tmp_path)


def check(name: str, policy: str, limits: Limits, spark: SparkSession, data: Path, folder: Path) -> None:
    """Run a flow, and hold all of its targets against the queries; where it can be, its sources are dirty."""
    selectivity = SELECTIVITY if name in SELECTIVE else 1.0
    if name in SELECTIVE:
        graph = SELECTIVE[name](str(data), selectivity=selectivity).graph()
    else:
        graph = {**ARCHETYPES, **COMBINATIONS}[name](str(data)).graph()
    store = Store(folder / "warehouse")
    report = run_flow(
        graph,
        spark,
        store=store,
        root=folder,
        scratch=folder / "scratch",
        policy=policy,
        limits=limits,
        pack_rows=PACK_ROWS,
    )
    session = spark.newSession()
    name_sources(session, data, selectivity=selectivity)
    assert {f"table {target}" for target in PLAIN[name]} == report.targets.keys()
    for target, query in PLAIN[name].items():
        expected = session.sql(query)
        found = stored(session, store, target)
        if target == "primary_flow_orders":
            found = with_production_keys(session, store, found)
        assert rows(found.select(*expected.columns)) == rows(expected), target
        assert report.targets[f"table {target}"] == expected.count(), target


def stored(session: SparkSession, store: Store, table: str) -> DataFrame:
    snapshot = store.table(table).snapshot
    assert snapshot is not None, f"{table} was not written"
    return read_files(session, snapshot, snapshot.files)


def with_production_keys(session: SparkSession, store: Store, orders: DataFrame) -> DataFrame:
    """Surrogate keys led back by their lookup tables, in which each key is there once and numbered without a gap."""
    for what, key in KEYS.items():
        lookup = stored(session, store, f"primary_flow_{what}_keys")
        pairs = [(row[key], row[f"{what}_sk"]) for row in lookup.collect()]
        assert sorted(number for _, number in pairs) == list(range(1, len(pairs) + 1)), what
        assert len({production for production, _ in pairs}) == len(pairs), what
        orders = orders.join(lookup, f"{what}_sk")
    return orders


def rows(frame: DataFrame) -> Counter[tuple[object, ...]]:
    return Counter(map(tuple, frame.collect()))
