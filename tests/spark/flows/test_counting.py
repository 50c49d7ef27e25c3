"""Numbers of rows that follow from others."""

from __future__ import annotations

from freshtide.flows.activities import Expression, Filter, NotNull, Router, Union
from freshtide.spark.flows.counting import balances, solved, to_count

from .flowbench import graph, node, read, write

_FLOW = graph(
    read("a"),
    node("whole", NotNull(columns=("v",)), "a"),
    node("some", Filter(condition="v > 1"), "whole"),
    node("labelled", Expression(columns={"w": "v"}), "some"),
    node("routed", Router(routes={"low": "v < 5"}), "labelled"),
    node("both", Union(), "routed.low", "whole.quarantine"),
    write("both", "both"),
    write("rest", "routed.otherwise"),
)


def test_what_comes_in_comes_out_somewhere() -> None:
    known = {("a", "out"): 100, ("both", "out"): 40, ("routed", "low"): 30, ("routed", "otherwise"): 20}
    rows = solved(balances(_FLOW), known)
    assert rows["whole", "quarantine"] == 10
    assert rows["whole", "out"] == 90
    assert rows["some", "out"] == rows["labelled", "out"] == 50


def test_rows_of_a_union_with_itself_follow_too() -> None:
    flow = graph(read("a"), node("twice", Union(), "a", "a"), write("t", "twice"))
    assert solved(balances(flow), {("twice", "out"): 14})["a", "out"] == 7


def test_only_what_follows_from_nothing_is_counted() -> None:
    known = {("a", "out"), ("both", "out"), ("routed", "otherwise")}
    counted = to_count(_FLOW, known)
    assert len(counted) == 1
    followed = solved(balances(_FLOW), dict.fromkeys(known | counted, 0))
    assert set(followed) == {(each.name, port) for each in _FLOW for port in each.activity.ports}
