"""Columns are known at every edge before a row is read."""

from __future__ import annotations

import pytest

from freshtide.core.errors import ProjectError
from freshtide.flows.activities import Aggregate, Expression, Filter, Join, NotNull
from freshtide.spark.flows import resolve_flow

from .flowbench import FlowBench, graph, node, read, write


@pytest.fixture
def shop(bench: FlowBench) -> FlowBench:
    bench.put("orders", {"id": [1], "shop": ["a"], "price": [1.5]})
    bench.put("shops", {"shop": ["a"], "city": ["Athens"], "price": [2]})
    return bench


def test_every_output_and_target_has_its_columns(shop: FlowBench) -> None:
    flow = graph(
        read("orders"),
        node("priced", NotNull(columns=("price",)), "orders"),
        node("totals", Aggregate(by=("shop",), columns={"total": "sum(price)"}), "priced"),
        write("totals", "totals"),
        write("unpriced", "priced.quarantine"),
    )
    schemas = resolve_flow(flow, shop.recordsets())
    assert schemas.by_port["priced", "quarantine"].names == ["id", "shop", "price"]
    assert schemas.by_port["totals", "out"].simpleString() == "struct<shop:string,total:double>"
    assert schemas.by_target["write unpriced"].names == ["id", "shop", "price"]


def test_all_columns_that_are_not_there_are_told_of_together(shop: FlowBench) -> None:
    flow = graph(
        read("orders"),
        node("dear", Filter(condition="prise > 3"), "orders"),
        write("dear", "dear"),
        node("labels", Expression(columns={"label": "upper(name)"}), "orders"),
        write("labels", "labels"),
    )
    with pytest.raises(ProjectError) as failure:
        resolve_flow(flow, shop.recordsets())
    dear, labels = failure.value.problems
    assert "'dear' at orders -> dear" in dear.message
    assert "`prise`" in dear.message
    assert dear.way_out == "Columns: orders has id, shop, price."
    assert "'labels' at orders -> labels" in labels.message


def test_a_column_that_both_sides_of_a_join_have_is_told_of(shop: FlowBench) -> None:
    flow = graph(
        read("orders"), read("shops"), node("joined", Join(on=("shop",)), "orders", "shops"), write("all", "joined")
    )
    with pytest.raises(ProjectError, match=r"'joined' .* Column 'price' would be there twice"):
        resolve_flow(flow, shop.recordsets())


def test_sources_that_are_not_there_are_told_of_before_anything_runs(bench: FlowBench) -> None:
    flow = graph(read("nothing"), write("copy", "nothing"))
    with pytest.raises(ProjectError, match=r"nothing\.parquet"):
        bench.run(flow)
    assert not (bench.root / "tables").exists()
