"""Flows as users declare them in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import freshtide
from freshtide.core.errors import ProjectError, UsageError
from freshtide.flows import Flow, FlowGraph, Rows
from freshtide.flows.activities import (
    ACTIVITIES,
    Aggregate,
    Deduplicate,
    Difference,
    Expression,
    Filter,
    Function,
    Join,
    NotNull,
    Pivot,
    Read,
    Recordset,
    Router,
    SlowlyChanging,
    Sort,
    SortedUnion,
    SurrogateKey,
    Union,
    Write,
)


def doubled(frame: object) -> object:
    return frame


def everything() -> FlowGraph:
    """A flow with every kind of activity, most of them with a name of their own."""
    flow = Flow("everything")
    orders = flow.read(files="landing/*.csv", format="csv", schema={"id": "int"}, options={"header": "true"})
    checked = orders.not_null("id", "customer", name="complete")
    checked.quarantine.write(files="out/incomplete", mode="append")
    rows = checked.filter("amount > 0").expression({"name": "upper(name)"}, tax="amount * 0.2")
    rows = rows.only("id", "odd name", {"total": "amount + tax"}, customer="trim(customer)").apply(doubled)
    keyed = rows.surrogate_key("customer", column="customer_id", lookup="customer_ids")
    customers = flow.read(table="customers", name="customers")
    joined = keyed.join(customers, on="customer_id", how="left", method="sort-merge")
    united = joined.union(rows, customers).sorted_union(rows, by=["id", "total"]).difference(customers, on="id")
    sorted_rows = united.deduplicate("id", order="total").sort("id", "total DESC")
    totals = sorted_rows.aggregate(by="customer", total="sum(total)")
    totals.pivot(by=["region"], column="month", values=[1, 2], total="sum(total)").write(table="months")
    routes = sorted_rows.route(low="total < 50", high="total >= 50", name="size")
    routes.low.write(table="small_orders")
    routes["high"].write(table="large_orders")
    routes.otherwise.write(table="odd_orders")
    totals.slowly_changing(table="customer_history", key="customer", type=2, compare=["total"], as_of="day")
    return flow.graph()


def test_every_kind_of_activity_can_be_declared() -> None:
    graph = everything()
    assert {node.activity.kind for node in graph} == set(ACTIVITIES)


def test_activities_are_what_was_declared() -> None:
    graph = everything()
    assert graph["read_1"].activity == Read(
        source=Recordset(files="landing/*.csv", format="csv", schema={"id": "int"}, options={"header": "true"})
    )
    assert graph["complete"].activity == NotNull(columns=("id", "customer"))
    assert graph["write_1"].activity == Write(target=Recordset(files="out/incomplete"), mode="append")
    assert graph["filter_1"].activity == Filter(condition="amount > 0")
    assert graph["expression_1"].activity == Expression(columns={"name": "upper(name)", "tax": "amount * 0.2"})
    only = {"id": "id", "odd name": "`odd name`", "total": "amount + tax", "customer": "trim(customer)"}
    assert graph["expression_2"].activity == Expression(columns=only, only=True)
    assert graph["function_1"].activity == Function(function=doubled, name="doubled")
    assert graph["surrogate_key_1"].activity == SurrogateKey(
        key=("customer",), column="customer_id", lookup="customer_ids"
    )
    assert graph["join_1"].activity == Join(on=("customer_id",), how="left", method="sort-merge")
    assert graph["union_1"].activity == Union()
    assert graph["sorted_union_1"].activity == SortedUnion(by=("id", "total"))
    assert graph["difference_1"].activity == Difference(on=("id",))
    assert graph["deduplicate_1"].activity == Deduplicate(key=("id",), order=("total",))
    assert graph["sort_1"].activity == Sort(by=("id", "total DESC"))
    assert graph["aggregate_1"].activity == Aggregate(by=("customer",), columns={"total": "sum(total)"})
    assert graph["pivot_1"].activity == Pivot(
        by=("region",), column="month", values=(1, 2), columns={"total": "sum(total)"}
    )
    assert graph["size"].activity == Router(routes={"low": "total < 50", "high": "total >= 50"})
    assert graph["slowly_changing_1"].activity == SlowlyChanging(
        target=Recordset(table="customer_history"), key=("customer",), type=2, compare=("total",), as_of="day"
    )


def test_edges_are_the_outputs_that_were_used() -> None:
    graph = everything()
    assert graph["complete"].inputs == (("read_1", "out"),)
    assert graph["write_1"].inputs == (("complete", "quarantine"),)
    assert graph["join_1"].inputs == (("surrogate_key_1", "out"), ("customers", "out"))
    assert graph["union_1"].inputs == (("join_1", "out"), ("function_1", "out"), ("customers", "out"))
    assert graph["write_3"].inputs == (("size", "low"),)
    assert graph["write_4"].inputs == (("size", "high"),)
    assert graph["write_5"].inputs == (("size", "otherwise"),)


def test_each_activity_knows_the_file_and_line_of_its_call() -> None:
    flow = Flow("lines")
    line = inspect.stack(context=0)[0].lineno
    rows = flow.read(table="a")
    rows.filter("x > 0").write(
        table="b",
    )
    origins = [node.origin for node in flow.graph()]
    assert [origin.line - line for origin in origins if origin] == [1, 2, 2]
    assert {origin.file for origin in origins if origin} == {__file__}


def test_made_up_names_keep_clear_of_given_ones() -> None:
    flow = Flow("names")
    flow.read(table="a", name="filter_1").filter("x > 0").filter("y > 0").write(table="b")
    assert list(flow.graph().nodes) == ["filter_1", "filter_2", "filter_3", "write_1"]


def test_rows_of_another_flow_cannot_be_taken() -> None:
    one, other = Flow("one"), Flow("other")
    with pytest.raises(UsageError, match=r"'read_1' belongs to the flow 'other', and cannot be taken by 'one'\."):
        one.read(table="a").union(other.read(table="b"))


def test_a_route_that_does_not_exist_is_told_with_the_one_that_was_meant() -> None:
    routes = Flow("routes").read(table="a").route(low="x < 5", name="size")
    with pytest.raises(UsageError, match=r"The router 'size' has no route 'lov'\. Did you mean 'low'\?"):
        routes.lov.write(table="b")


def test_columns_may_be_given_one_by_one_or_in_a_list() -> None:
    rows = Flow("lists").read(table="a")
    rows.not_null(["x", "y"]).sort("x", ["y"]).write(table="b")
    activities = [node.activity for node in rows.flow.graph()]
    assert activities[1:3] == [NotNull(columns=("x", "y")), Sort(by=("x", "y"))]


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda rows: rows.filter(5), "'condition' is of type int, and SQL is expected."),
        (lambda rows: rows.expression(total=5), "'total' is of type int, and SQL is expected."),
        (lambda rows: rows.aggregate(total=len), "'total' is of type builtin_function_or_method, and SQL is expected."),
        (lambda rows: rows.sort(5.0, "x"), "5.0 is not the name of a column."),
    ],
)
def test_what_is_no_text_is_refused_where_it_is_written(declare: Callable[[Rows], object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        declare(Flow("wrong").read(table="a"))
    assert caught.value.message == message


def test_a_flow_with_problems_gives_them_all_instead_of_a_graph() -> None:
    flow = Flow("wrong")
    flow.read(table="a").filter("").sort()
    with pytest.raises(ProjectError) as caught:
        flow.graph()
    assert len(caught.value.problems) == 4
    assert all(problem.origin and problem.origin.file == __file__ for problem in caught.value.problems)


def test_flow_is_a_public_name() -> None:
    assert freshtide.Flow is Flow
