"""Each mistake in the structure of a flow: the activity, the edge and the way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.errors import Origin, ProjectError, UsageError
from freshtide.flows import Flow, FlowGraph, Limits, Node, Recordset, Rows, break_into_subflows, flow_problems
from freshtide.flows.activities import OUT, Activity, Filter, Join, Read, Router, Union, Write
from freshtide.flows.routes import overlap

from .archetypes import ARCHETYPES
from .drawn import flows

READ, KEEP, WRITE = Read(source=Recordset(table="a")), Filter(condition="x > 0"), Write(target=Recordset(table="b"))


def graph(**nodes: tuple[Activity, list[str]]) -> FlowGraph:
    """Activities with what they take rows from, each in a line of its own."""
    return FlowGraph(
        name="flow",
        nodes={
            name: Node(
                name=name,
                activity=activity,
                inputs=tuple((label.split(".")[0], label.partition(".")[2] or OUT) for label in inputs),
                origin=Origin(file="flows/flow.yml", line=line),
            )
            for line, (name, (activity, inputs)) in enumerate(nodes.items(), start=1)
        },
    )


@pytest.mark.parametrize("name", ARCHETYPES)
def test_the_archetypes_are_as_they_should_be(name: str) -> None:
    assert flow_problems(ARCHETYPES[name]().graph()) == []


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (
            graph(rows=(READ, []), write=(WRITE, ["rosw"]), rest=(Write(target=Recordset(table="c")), ["rows"])),
            "flows/flow.yml:2: The write 'write' takes rows from 'rosw', which is no activity of this flow. "
            "Did you mean 'rows'?",
        ),
        (
            graph(rows=(READ, []), write=(WRITE, ["rows"]), late=(Write(target=Recordset(table="c")), ["write"])),
            "flows/flow.yml:3: The write 'late' takes rows from the write 'write', which gives none. "
            "Take them from what it takes its own from.",
        ),
        (
            graph(
                rows=(READ, []),
                size=(Router(routes={"low": "x < 5"}), ["rows"]),
                write=(WRITE, ["size.low"]),
                rest=(Write(target=Recordset(table="c")), ["size.hihg"]),
            ),
            "flows/flow.yml:4: The write 'rest' takes rows from 'size.hihg', which is no output of the router 'size'. "
            "Known: low, otherwise.",
        ),
        (
            graph(rows=(READ, []), write=(WRITE, ["rows"]), more=(KEEP, ["rows"])),
            "flows/flow.yml:3: Nobody takes the rows that come out of 'more'. "
            "Write them somewhere, or take the filter out.",
        ),
        (
            graph(
                rows=(READ, []),
                size=(Router(routes={"low": "x < 5", "high": "x > 9"}), ["rows"]),
                write=(WRITE, ["size.low"]),
            ),
            "flows/flow.yml:2: Nobody takes the rows that come out of 'size.high'. "
            "Write them somewhere, or take the router out.",
        ),
        (
            graph(rows=(READ, []), join=(Join(on=("x",)), ["rows"]), write=(WRITE, ["join"])),
            "flows/flow.yml:2: The join 'join' takes 2 inputs, and has 1. "
            "Name as many outputs of others in its 'from'.",
        ),
        (
            graph(rows=(READ, []), all=(Union(), ["rows"]), write=(WRITE, ["all"])),
            "flows/flow.yml:2: The union 'all' takes at least 2 inputs, and has 1. "
            "Name as many outputs of others in its 'from'.",
        ),
        (
            graph(rows=(READ, []), more=(READ, ["rows"]), write=(WRITE, ["more"])),
            "flows/flow.yml:2: The read 'more' takes no input, and has 1. Take its 'from' out.",
        ),
        (
            graph(
                rows=(READ, []),
                all=(Union(), ["rows", "third"]),
                second=(KEEP, ["all"]),
                third=(KEEP, ["second"]),
                write=(WRITE, ["third"]),
            ),
            "flows/flow.yml:2: The rows of 'all' come back to it: all -> second -> third -> all. "
            "Take one of these edges out.",
        ),
        (
            graph(rows=(READ, []), **{"a b": (WRITE, ["rows"])}),
            "flows/flow.yml:2: 'a b' cannot be the name of an activity. "
            "Names are letters, digits and underscores, and begin with a letter.",
        ),
    ],
)
def test_edges_that_lead_nowhere_or_in_a_circle_are_named(wrong: FlowGraph, problem: str) -> None:
    assert [str(each) for each in flow_problems(wrong)] == [problem]


@pytest.mark.parametrize(
    ("declare", "problem"),
    [
        (lambda rows: rows.not_null().write(table="b"), "The not_null 'not_null_1' has nothing in 'columns'."),
        (lambda rows: rows.filter("").write(table="b"), "The filter 'filter_1' has nothing in 'condition'."),
        (lambda rows: rows.sort("").write(table="b"), "The sort 'sort_1' has nothing in 'by'."),
        (lambda rows: rows.join(rows, on=[]).write(table="b"), "The join 'join_1' has nothing in 'on'."),
        (lambda rows: rows.aggregate(by="x").write(table="b"), "The aggregate 'aggregate_1' has nothing in 'columns'."),
        (
            lambda rows: rows.join(rows, on="x", how="lefty").write(table="b"),
            "The join 'join_1' cannot have how 'lefty'. Did you mean 'left'?",
        ),
        (
            lambda rows: rows.write(table="b", mode="replace"),
            "The write 'write_1' cannot have mode 'replace'. Known: append, overwrite.",
        ),
        (lambda rows: rows.write(), "The write 'write_1' names neither a table nor files."),
        (lambda rows: rows.write(table="b", files="c"), "The write 'write_1' names both a table and files."),
        (
            lambda rows: rows.write(files="c", format="xlsx"),
            "The write 'write_1' cannot have files of the format 'xlsx'. Known: csv, json, parquet.",
        ),
        (
            lambda rows: rows.slowly_changing(table="b", key="x", as_of="day"),
            "The slowly_changing 'slowly_changing_1' keeps no history, so 'as_of' says nothing.",
        ),
        (
            lambda rows: rows.slowly_changing(table="", key="x"),
            "The slowly_changing 'slowly_changing_1' names neither a table nor files.",
        ),
        (
            lambda rows: (rows.filter("x", name="one").write(table="b"), rows.sort("x", name="one").write(table="c")),
            "There are two activities called 'one': the first is a filter",
        ),
        (
            lambda rows: (rows.write(table="b"), rows.slowly_changing(table="B", key="x")),
            "The slowly_changing 'slowly_changing_1' writes the table B, and so does the write 'write_1'",
        ),
        (
            lambda rows: rows.surrogate_key("x", column="y", lookup="ids").write(table="ids"),
            "The write 'write_1' writes the table ids, and so does the surrogate_key 'surrogate_key_1'",
        ),
        (
            lambda rows: (rows.write(files="out/b"), rows.write(files="out/b")),
            "The write 'write_2' writes the files out/b, and so does the write 'write_1'",
        ),
        (
            lambda rows: rows.route({"otherwise": "x < 5"}, name="size").otherwise.write(table="b"),
            "The router 'size' cannot have a route called 'otherwise'.",
        ),
    ],
)
def test_activities_that_cannot_be_carried_out_are_named(declare: Callable[[Rows], object], problem: str) -> None:
    flow = Flow("flow")
    declare(flow.read(table="a"))
    with pytest.raises(ProjectError) as caught:
        flow.graph()
    (found,) = caught.value.problems
    assert str(found).startswith(f"{found.origin}: {problem}")
    assert found.way_out


def test_a_flow_that_writes_nothing_is_none() -> None:
    with pytest.raises(ProjectError, match=r"The flow 'nothing' writes nothing\."):
        Flow("nothing").graph()


def test_all_problems_are_told_at_once() -> None:
    wrong = graph(rows=(READ, []), join=(Join(on=()), ["rows"]), write=(WRITE, ["jion"]))
    assert [each.message for each in flow_problems(wrong)] == [
        "The join 'join' has nothing in 'on'.",
        "The join 'join' takes 2 inputs, and has 1.",
        "The write 'write' takes rows from 'jion', which is no activity of this flow.",
        "Nobody takes the rows that come out of 'join'.",
    ]


@pytest.mark.parametrize("limits", [{"packs": 0}, {"packs": -1}, {"memory": 0}])
def test_queues_without_room_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(UsageError) as caught:
        Limits(**limits)
    assert caught.value.way_out


@given(flows())
def test_flows_whose_edges_fit_have_no_problems_but_shared_targets(graph: FlowGraph) -> None:
    assert all("and so does the write" in problem.message for problem in flow_problems(graph))


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("x < 5", "X  <  5", "they are the same"),
        ("lower(name) = 'a'", "lower(name) = 'a'", "they are the same"),
        ("x < 5", "x < 9", "x = "),
        ("x <= 5", "x >= 5", "x = 5 fits both"),
        ("x BETWEEN 1 AND 5", "x IN (5, 6)", "x = 5 fits both"),
        ("x <> 3", "x > 9", "x = "),
        ("x > -5 AND x < -3", "x = -4", "x = -4 fits both"),
        ("name >= 'm'", "name = 'z'", "name = 'z' fits both"),
        ("day >= '2026-01-01'", "day <= DATE '2026-01-01'", "day = '2026-01-01' fits both"),
        ("x < 5", "y < 5", " and "),
        ("x IS NULL", "NOT x IS NOT NULL OR x = 7", "x IS NULL fits both"),
        ("paid", "paid", "they are the same"),
        ("a.x < 5", "a.x < 9", "a.x = "),
    ],
)
def test_routes_that_overlap_are_told_with_a_row_that_fits_both(one: str, other: str, reason: str) -> None:
    assert reason in (overlap(one, other) or "nothing")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x < 5", "x >= 5"),
        ("x <= 5", "x > 5"),
        ("x > 50", "x < 51"),  # no whole number lies between, and x may be one
        ("x = 1", "x IN (2, 3)"),
        ("x IS NULL", "x < 5"),
        ("NOT x < 5", "x < 5"),
        ("x < 5 AND y = 1", "x < 5 AND y = 2"),
        ("day > '2026-01-01'", "day < '2026-01-02'"),
        ("name = 'a'", "name = 'b'"),
        ("length(name) < 5", "name = 'abc'"),
        ("x + 1 < 5", "x < 5"),
        ("x < 5", "x < '9'"),
        ("x <", "x < 5"),
        ("x < 1e999", "x < 5"),
        ("a.x < 5 AND b.x = 2", "a.x < 5 AND b.x = 3"),
    ],
)
def test_nothing_is_claimed_of_routes_that_do_not_provably_overlap(one: str, other: str) -> None:
    assert overlap(one, other) is None


def test_every_cycle_is_named() -> None:
    wrong = graph(
        rows=(READ, []),
        all=(Union(), ["rows", "second", "third"]),
        second=(KEEP, ["all"]),
        third=(KEEP, ["all"]),
        itself=(Union(), ["rows", "itself"]),
        write=(WRITE, ["third"]),
    )
    assert {each.message for each in flow_problems(wrong)} == {
        "The rows of 'all' come back to it: all -> second -> all.",
        "The rows of 'all' come back to it: all -> third -> all.",
        "The rows of 'itself' come back to it: itself -> itself.",
    }


def test_a_flow_of_a_thousand_activities_is_checked_and_divided() -> None:
    flow = Flow("long")
    rows = flow.read(table="a")
    for _ in range(1_000):
        rows = rows.filter("x > 0")
    rows.write(table="b")
    (subflow,) = break_into_subflows(flow.graph())
    assert len(subflow.nodes) == 1_002


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_ranges_of_whole_numbers_overlap_when_they_have_a_number_in_common(a: int, b: int, c: int, d: int) -> None:
    common = set(range(a, b + 1)) & set(range(c, d + 1))
    assert (overlap(f"x >= {a} AND x <= {b}", f"x >= {c} AND x < {d + 1}") is not None) == bool(common)


def test_routes_that_overlap_are_named_with_their_router() -> None:
    wrong = graph(
        rows=(READ, []),
        size=(Router(routes={"low": "x < 50", "high": "x > 40"}), ["rows"]),
        write=(WRITE, ["size.low"]),
        more=(Write(target=Recordset(table="c")), ["size.high"]),
    )
    (problem,) = flow_problems(wrong)
    assert str(problem).startswith(
        "flows/flow.yml:2: The router 'size' has routes that overlap, 'low' (x < 50) and 'high' (x > 40): x = 4"
    )
    assert str(problem).endswith("fits both. A row goes one way only: narrow one of the conditions.")
