"""Whether a column gets through a flow, told without running it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from freshtide.flows import Flow, Rows
from freshtide.flows.columns import may_have


def reaches(flow: Flow, rows: Rows, column: str = "at") -> bool:
    rows.write(table="t", name="end")
    return may_have(flow.graph(), "end", column)


def source(flow: Flow, *columns: str) -> Rows:
    return flow.read(files="a.csv", schema=dict.fromkeys(columns, "int"))


@pytest.mark.parametrize("column", ["at", "AT"])
def test_most_activities_pass_columns_on(column: str) -> None:
    flow = Flow("f")
    rows = source(flow, "at", "k").filter("k > 0").not_null("k").expression(n="k + 1").sort("k").deduplicate("k")
    assert reaches(flow, rows, column)


def test_a_column_may_be_made_on_the_way() -> None:
    flow = Flow("f")
    assert reaches(flow, source(flow, "k").expression(at="now()").filter("k > 0"))


@pytest.mark.parametrize(
    "dropping",
    [
        lambda rows: rows.only("k"),
        lambda rows: rows.aggregate(by="k", n="count(*)"),
        lambda rows: rows.surrogate_key("at", column="key", lookup="keys"),
    ],
)
def test_what_keeps_some_columns_only_drops_the_others(dropping: Callable[[Rows], Rows]) -> None:
    flow = Flow("f")
    assert not reaches(flow, dropping(source(flow, "at", "k")))


def test_an_aggregate_keeps_what_it_groups_by_or_computes() -> None:
    for kept in ({"by": ["k", "at"], "n": "count(*)"}, {"by": "k", "at": "max(at)"}):
        flow = Flow("f")
        assert reaches(flow, source(flow, "at", "k").aggregate(**kept))


def test_one_side_of_a_join_is_enough_and_all_parts_of_a_union_are_needed() -> None:
    flow = Flow("f")
    assert reaches(flow, source(flow, "k").join(source(flow, "at", "k"), on="k"))
    flow = Flow("f")
    assert not reaches(flow, source(flow, "k").join(source(flow, "at", "k"), on="k", how="semi"))
    flow = Flow("f")
    assert not reaches(flow, source(flow, "at").union(source(flow, "k")))


def test_what_nobody_can_tell_may_be() -> None:
    flow = Flow("f")
    assert reaches(flow, source(flow, "k").apply(lambda frame: frame))
    flow = Flow("f")
    assert reaches(flow, flow.read(files="a.parquet"))


def test_a_long_flow_is_no_trouble() -> None:
    flow = Flow("f")
    rows = source(flow, "at")
    for _ in range(3_000):
        rows = rows.filter("at > 0")
    assert reaches(flow, rows)
