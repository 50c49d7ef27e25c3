from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from freshtide.core.definitions import Former, FormerRows, fingerprints, known_by
from freshtide.core.errors import Origin
from freshtide.core.grains import Grain
from freshtide.core.graph import TableGraph
from freshtide.core.latest import KeyOrder, KeyWindows, LatestSemantics, WindowSemantics
from freshtide.core.tables import Emit, FunctionQuery, Maintenance, Table

from .declared import base, sql, view

QUERY = "SELECT time, cpu FROM cpu WHERE host = 'a b' -- busy\n  AND cpu > 90"
CPU = base("cpu")
BUSY = view("busy", "cpu", query=sql(QUERY), maintain=Maintenance.PARTITIONS, grain=Grain.of_seconds(3_600))
TOP = view("top", "busy")


def of(name: str, tables: Iterable[Table]) -> str:
    return fingerprints(TableGraph(tables))[name]


def changed(**changes: Any) -> bool:
    """Whether the fingerprint of `busy` changes with its declaration."""
    return of("busy", [CPU, BUSY]) != of("busy", [CPU, replace(BUSY, **changes)])


@pytest.mark.parametrize(
    "text",
    [
        QUERY.replace("90", "91"),
        QUERY.replace("'a b'", "'a  b'"),
        QUERY.replace("'a b'", "'A b'"),
        QUERY.replace("'a b'", "'a -- b'"),
        QUERY.replace("-- busy\n", "-- busy "),
        QUERY.replace("time, cpu", "cpu, time"),
        QUERY.replace("'a b'", "`a b`"),
    ],
)
def test_a_query_that_says_something_else_is_another_definition(text: str) -> None:
    assert changed(query=sql(text))


@pytest.mark.parametrize(
    "text",
    [
        QUERY.replace("\n", "\n\n\t"),
        QUERY.replace(" AND", "  AND"),
        QUERY.replace("busy", "very busy"),
        QUERY.replace("-- busy\n", "/* it's\nbusy */"),
        QUERY.replace("-- busy\n", ""),
        f"\n{QUERY}\n",
    ],
)
def test_layout_and_comments_make_no_other_definition(text: str) -> None:
    assert not changed(query=sql(text))


@pytest.mark.parametrize(
    "changes",
    [
        {"time_column": "other"},
        {"emit": Emit.CLOSED},
        {"grain": Grain.of_seconds(1_800)},
        {"grain": Grain(unit="month")},
        {"grain": None},
        {"partition_by": ("host",)},
    ],
)
def test_what_shapes_the_rows_on_disk_is_part_of_the_definition(changes: dict[str, Any]) -> None:
    assert changed(**changes)


@pytest.mark.parametrize(
    ("first", "second"), [(0.01, 0.02), (90_000, 90_060), (86_400.0, 86_400.5)], ids=["short", "long", "uneven"]
)
def test_grains_that_look_alike_to_people_are_told_apart(first: float, second: float) -> None:
    tables = [replace(BUSY, grain=Grain.of_seconds(width)) for width in (first, second)]
    assert of("busy", [CPU, tables[0]]) != of("busy", [CPU, tables[1]])


@pytest.mark.parametrize(
    "changes",
    [
        {"priority": 5.0},
        {"target_lag": 60.0},
        {"period": 5.0},
        {"comment": "for the night shift"},
        {"maintain": Maintenance.FULL},
        {"maintenance_reason": "asked for"},
        {"origin": Origin(file="tables/busy.sql", line=7)},
    ],
)
def test_what_changes_no_row_is_not_part_of_the_definition(changes: dict[str, Any]) -> None:
    assert not changed(**changes)


def test_a_change_below_changes_every_view_above() -> None:
    other = replace(BUSY, query=sql("SELECT 1"))
    assert of("top", [CPU, BUSY, TOP]) != of("top", [CPU, other, TOP])


def test_a_change_of_a_base_table_leaves_the_views_above_as_they_are() -> None:
    other = replace(CPU, query=sql("SELECT 1"))
    assert of("cpu", [CPU]) != of("cpu", [other])
    assert of("top", [CPU, BUSY, TOP]) == of("top", [other, BUSY, TOP])


def test_a_change_above_or_beside_changes_nothing_below() -> None:
    assert of("busy", [CPU, BUSY, TOP]) == of("busy", [CPU, BUSY, base("disk")])


def test_a_function_is_defined_by_its_text_and_by_what_is_passed_to_it() -> None:
    def reads(source: str, fingerprint: str = "f") -> Table:
        query = FunctionQuery(function=print, parameters={"rows": source}, fingerprint=fingerprint)
        return replace(BUSY, query=query, sources=(source,))

    tables = [CPU, base("disk")]
    assert of("busy", [*tables, reads("cpu")]) == of("busy", [*tables, reads("cpu")])
    assert of("busy", [*tables, reads("cpu")]) != of("busy", [*tables, reads("cpu", "g")])
    assert of("busy", [*tables, reads("cpu")]) != of("busy", [*tables, reads("disk")])


def test_what_supersedes_what_is_part_of_a_definition_and_who_is_served_first_is_not() -> None:
    def told(updates: LatestSemantics | None) -> str:
        return of("cpu", [replace(CPU, latest=updates)])

    by_host = LatestSemantics(key=("host",))
    minutes = KeyWindows(size=60.0, slide=60.0)
    different = [
        None,
        by_host,
        LatestSemantics(key=("host", "core")),
        replace(by_host, windows=minutes),
        replace(by_host, windows=replace(minutes, slide=10.0)),
        replace(by_host, windows=replace(minutes, semantics=WindowSemantics.EAGER)),
    ]
    assert len({told(updates) for updates in different}) == len(different)
    assert len({told(replace(by_host, order=order)) for order in KeyOrder}) == 1


REPHRASED = replace(BUSY, query=sql(QUERY.replace("cpu > 90", "90 < cpu")))


def standing(*tables: Table, former: Iterable[Table] = (CPU, BUSY, TOP), same: bool = True) -> set[str]:
    """Which tables keep their rows, known by the definition of before, given whether Spark plans queries alike."""
    was = TableGraph(former)
    old = {name: Former(definition=mark, query=was[name].query) for name, mark in fingerprints(was).items()}
    found = known_by(TableGraph(tables), old, lambda _table, _query: () if same else None)
    assert all(rows.definition == old[name].definition for name, rows in found.items())
    return set(found)


def test_a_view_in_other_words_is_known_by_its_former_definition_and_so_are_those_above() -> None:
    assert standing(CPU, REPHRASED, TOP) == {"busy", "top"}


def test_a_query_that_gives_something_else_takes_those_above_along() -> None:
    assert standing(CPU, REPHRASED, TOP, same=False) == set()


def test_what_is_as_it_was_needs_no_other_name() -> None:
    assert standing(CPU, BUSY, TOP, same=False) == set()


@pytest.mark.parametrize("change", [{"emit": Emit.CLOSED}, {"partition_by": ("cpu",)}, {"time_column": "other"}])
def test_other_words_are_no_excuse_for_other_properties(change: dict[str, Any]) -> None:
    assert standing(CPU, replace(REPHRASED, **change), TOP) == set()


def test_a_table_that_nobody_knows_the_words_of_is_computed_anew() -> None:
    assert standing(CPU, REPHRASED, TOP, former=(CPU,)) == set()


def test_a_view_with_other_columns_takes_its_rows_along_but_not_those_above() -> None:
    was = TableGraph([CPU, BUSY, TOP])
    old = {name: Former(definition=mark, query=was[name].query) for name, mark in fingerprints(was).items()}
    found = known_by(TableGraph([CPU, REPHRASED, TOP]), old, lambda _table, _query: ("cpu",))
    assert found == {"busy": FormerRows(definition=old["busy"].definition, columns=("cpu",))}
