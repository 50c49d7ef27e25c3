"""Whatever the policy, the queues and the packs: the targets hold the rows of plain queries, and the counts add up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from freshtide.flows import FlowGraph, Limits, Node
from freshtide.flows.activities import (
    Aggregate,
    Deduplicate,
    Difference,
    Expression,
    Filter,
    Join,
    NotNull,
    Router,
    Sort,
    SurrogateKey,
    Union,
)
from freshtide.spark import SparkSession
from freshtide.spark.flows import FlowReport
from tests.examples import examples, slow_except

from .flowbench import FlowBench, Row, graph, node, read, write

_POLICIES = ("round-robin", "mc", "mm", "mixed")

_BUTTERFLY = graph(
    read("orders"),
    read("shops"),
    node("dated", NotNull(columns=("price",)), "orders"),
    node("named", Expression(columns={"city": "upper(city)"}), "shops"),
    node("joined", Join(on=("shop",)), "dated", "named"),
    node("numbered", SurrogateKey(key=("city",), column="city_key", lookup="cities"), "joined"),
    node("routed", Router(routes={"dear": "price >= 50"}), "numbered"),
    node("by shop", Aggregate(by=("shop",), columns={"total": "sum(price)", "n": "count(*)"}), "numbered"),
    node("cheap ones", Sort(by=("price", "id")), "routed.otherwise"),
    write("totals", "by shop"),
    write("dear", "routed.dear"),
    write("cheap", "cheap ones"),
    write("without_price", "dated.quarantine"),
)
_PRICED = "SELECT shop, id, price FROM orders JOIN shops USING (shop) WHERE price IS NOT NULL"
_QUERIES = {
    "totals": f"SELECT shop, sum(price), count(*) FROM ({_PRICED}) GROUP BY shop",
    "dear": f"{_PRICED} AND price >= 50",
    "cheap": f"{_PRICED} AND price < 50",
    "without_price": "SELECT id, shop, price FROM orders WHERE price IS NULL",
}
_COMPARED = {
    "totals": ["shop", "total", "n"],
    "dear": ["shop", "id", "price"],
    "cheap": ["shop", "id", "price"],
    "without_price": ["id", "shop", "price"],
}


@pytest.mark.parametrize("policy", slow_except(_POLICIES, "mixed"))
@pytest.mark.parametrize(
    ("packs", "pack_rows", "theta"),
    [pytest.param(1, 11, 0, id="tiny"), pytest.param(100, 1_000, 2, id="large", marks=pytest.mark.slow)],
)
def test_a_butterfly_gives_the_rows_of_plain_queries(
    bench: FlowBench, policy: str, packs: int, pack_rows: int, theta: int
) -> None:
    _put_shop(bench)
    held = bench.held
    report = bench.run(_BUTTERFLY, policy=policy, limits=Limits(packs=packs), pack_rows=pack_rows, theta=theta)
    for table, query in _QUERIES.items():
        found = bench.frame(table).select(_COMPARED[table])
        assert Counter(found.rows()) == _queried(bench, query)
    _require_sums(_BUTTERFLY, report)
    cities = bench.frame("cities")
    assert sorted(cities["city"].to_list()) == ["ATHENS", "CORFU"]
    assert cities["city_key"].n_unique() == 2
    assert not bench.scratch.joinpath("flow").exists(), "the scratch folder goes when the run ends"
    assert bench.held == held, "and so does all that was held for it"


def _put_shop(bench: FlowBench) -> None:
    numbers = range(30)
    bench.put(
        "orders",
        {
            "id": numbers,
            "shop": [("a", "b", "c")[number % 3] for number in numbers],
            "price": [None if number % 7 == 0 else float(number * 3 % 100) for number in numbers],
        },
    )
    bench.put("shops", {"shop": ["a", "b"], "city": ["Athens", "Corfu"]})


def _queried(bench: FlowBench, query: str) -> Counter[Row]:
    with duckdb.connect() as connection:
        for path in bench.root.glob("*.parquet"):
            connection.execute(f"CREATE VIEW {path.stem} AS SELECT * FROM '{path}'")
        return Counter(connection.sql(query).fetchall())


def _require_sums(flow: FlowGraph, report: FlowReport) -> None:
    """What an activity takes is what its producers gave; what keeps rows gives what it takes."""
    tallies = report.record.tallies
    assert set(tallies) == set(flow.nodes)
    for each in flow:
        if each.inputs:
            given = sum(tallies[producer].rows_out.get(port, 0) for producer, port in each.inputs)
            assert tallies[each.name].rows_in == given, each.name
        if isinstance(each.activity, NotNull | Router | Union | Expression | Sort):
            assert sum(tallies[each.name].rows_out.values()) == tallies[each.name].rows_in, each.name


_KEY = st.integers(0, 3)
_VALUE = st.one_of(st.none(), st.integers(0, 9))
_ROWS = st.lists(st.tuples(_KEY, _VALUE), max_size=12)


@st.composite
def _flows(draw: st.DrawFn) -> tuple[FlowGraph, dict[str, str]]:
    """A random flow over the columns k and v, and the query that stands for each of its targets."""
    nodes: list[Node] = [read("left_rows"), read("right_rows")]
    queries = {"left_rows": "SELECT k, v FROM left_rows", "right_rows": "SELECT k, v FROM right_rows"}
    for number in range(draw(st.integers(1, 4))):
        name = f"n{number}"
        one, other = draw(st.sampled_from(sorted(queries))), draw(st.sampled_from(sorted(queries)))
        made = draw(
            st.sampled_from(["filter", "not_null", "union", "difference", "aggregate", "semi", "router", "unique"])
        )
        a, b = f"({queries[one]})", f"({queries[other]})"
        match made:
            case "filter":
                nodes.append(node(name, Filter(condition="v > 3"), one))
                queries[name] = f"SELECT * FROM {a} WHERE v > 3"
            case "not_null":
                nodes.append(node(name, NotNull(columns=("v",)), one))
                queries[name] = f"SELECT * FROM {a} WHERE v IS NOT NULL"
                queries[f"{name}.quarantine"] = f"SELECT * FROM {a} WHERE v IS NULL"
            case "union":
                nodes.append(node(name, Union(), one, other))
                queries[name] = f"SELECT * FROM {a} UNION ALL SELECT * FROM {b}"
            case "difference":
                nodes.append(node(name, Difference(on=("k",)), one, other))
                queries[name] = f"SELECT * FROM {a} WHERE k NOT IN (SELECT k FROM {b})"
            case "aggregate":
                nodes.append(node(name, Aggregate(by=("k",), columns={"v": "sum(v)"}), one))
                queries[name] = f"SELECT k, CAST(sum(v) AS BIGINT) AS v FROM {a} GROUP BY k"
            case "semi":
                nodes.append(node(name, Join(on=("k",), how="semi"), one, other))
                queries[name] = f"SELECT * FROM {a} WHERE k IN (SELECT k FROM {b})"
            case "unique":
                nodes.append(node(name, Deduplicate(), one))
                queries[name] = f"SELECT DISTINCT * FROM {a}"
            case "router":
                nodes.append(node(name, Router(routes={"low": "k < 2"}), one))
                queries[f"{name}.low"] = f"SELECT * FROM {a} WHERE k < 2"
                queries[f"{name}.otherwise"] = f"SELECT * FROM {a} WHERE k >= 2"
    targets = {f"t{place}": port for place, port in enumerate(queries)}
    nodes += [write(table, port) for table, port in targets.items()]
    return graph(*nodes), {table: queries[port] for table, port in targets.items()}


# A run takes seconds: to look for the smallest flow that fails would take an hour.
@settings(
    max_examples=examples(4),
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(flow=_flows(), rows=st.tuples(_ROWS, _ROWS), policy=st.sampled_from(_POLICIES), theta=st.integers(0, 1))
def test_any_flow_gives_the_rows_of_the_queries_that_it_stands_for(
    spark: SparkSession,
    flow: tuple[FlowGraph, dict[str, str]],
    rows: tuple[list[tuple[int, int | None]], ...],
    policy: str,
    theta: int,
) -> None:
    made, queries = flow
    with TemporaryDirectory() as folder:
        bench = FlowBench(spark, Path(folder))
        for name, pairs in zip(("left_rows", "right_rows"), rows, strict=True):
            bench.put_numbers(name, {"k": [key for key, _ in pairs], "v": [value for _, value in pairs]})
        report = bench.run(made, policy=policy, limits=Limits(packs=1), pack_rows=5, theta=theta)
        for table, query in queries.items():
            assert Counter(bench.frame(table).select("k", "v").rows()) == _queried(bench, query), table
        _require_sums(made, report)
