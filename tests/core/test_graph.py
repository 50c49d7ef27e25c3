from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.errors import UnknownTableError
from freshtide.core.graph import CycleError, TableGraph
from freshtide.core.tables import Table

from .declared import base, view


def diamond() -> TableGraph:
    return TableGraph(
        [view("report", "left", "right"), view("left", "orders"), view("right", "orders"), base("orders"), base("x")]
    )


def test_sources_come_before_their_dependents_however_they_are_declared() -> None:
    order = list(diamond())
    assert order.index("orders") < order.index("left") < order.index("report")
    assert order.index("right") < order.index("report")


def test_dependents_are_all_that_is_built_on_a_table_sources_first() -> None:
    graph = diamond()
    assert set(graph.dependents("orders")) == {"left", "right", "report"}
    assert graph.dependents("orders")[-1] == "report"
    assert graph.dependents("x") == graph.dependents("report") == ()


def test_ancestors_are_all_that_a_table_is_built_on_sources_first() -> None:
    graph = diamond()
    assert set(graph.ancestors("report")) == {"orders", "left", "right"}
    assert graph.ancestors("report")[0] == "orders"
    assert graph.ancestors("orders") == ()


def test_a_level_is_one_above_the_highest_source() -> None:
    graph = TableGraph([base("a"), view("b", "a"), view("c", "b", "a"), view("d", "a")])
    assert {name: graph.level(name) for name in graph} == {"a": 0, "b": 1, "c": 2, "d": 1}


def test_tables_are_found_by_their_feed() -> None:
    graph = TableGraph([base("a", feed="shared"), base("b", feed="shared"), base("c")])
    assert {table.name for table in graph.for_feed("shared")} == {"a", "b"}
    assert graph.for_feed("nobody") == ()


def test_a_circle_is_named_from_table_to_table() -> None:
    with pytest.raises(CycleError) as caught:
        TableGraph([view("a", "c"), view("b", "a"), view("c", "b"), base("z"), view("y", "z")])
    assert set(caught.value.cycle) == {"a", "b", "c"}
    cycle = caught.value.cycle
    sources = {"a": "c", "b": "a", "c": "b"}
    assert all(sources[after] == before for before, after in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    assert " -> ".join((*cycle, cycle[0])) in str(caught.value)
    assert caught.value.way_out


def test_a_table_that_reads_itself_is_a_circle_of_one() -> None:
    with pytest.raises(CycleError) as caught:
        TableGraph([view("a", "a")])
    assert caught.value.cycle == ("a",)


def test_an_unknown_source_is_named_with_the_name_that_was_probably_meant() -> None:
    with pytest.raises(UnknownTableError) as caught:
        TableGraph([base("orders"), view("report", "odrers")])
    assert "'odrers'" in caught.value.message
    assert caught.value.way_out == "Did you mean 'orders'?"


def test_asking_for_an_unknown_table_names_the_known_ones() -> None:
    with pytest.raises(UnknownTableError, match="Known: orders"):
        TableGraph([base("orders")])["zzzzzz"]
    assert "zzzzzz" not in TableGraph([base("orders")])


@st.composite
def random_tables(draw: st.DrawFn) -> list[Table]:
    names: list[str] = []
    tables = []
    for number in range(draw(st.integers(1, 12))):
        name = f"t{number}"
        sources = draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) if names else []
        tables.append(view(name, *sources) if sources else base(name))
        names.append(name)
    return draw(st.permutations(tables))


@given(random_tables())
def test_ancestors_and_dependents_mirror_each_other_and_follow_the_declared_sources(tables: list[Table]) -> None:
    graph = TableGraph(tables)
    direct = {table.name: set(table.sources) for table in tables}

    def below(name: str) -> set[str]:
        return direct[name].union(*(below(source) for source in direct[name]))

    place = {name: number for number, name in enumerate(graph)}
    for name in graph:
        assert set(graph.ancestors(name)) == below(name)
        assert set(graph.dependents(name)) == {other for other in graph if name in below(other)}
        assert all(place[source] < place[name] for source in direct[name])
        assert list(graph.ancestors(name)) == sorted(graph.ancestors(name), key=place.__getitem__)
        assert list(graph.dependents(name)) == sorted(graph.dependents(name), key=place.__getitem__)
        expected = 1 + max((graph.level(source) for source in direct[name]), default=-1)
        assert graph.level(name) == expected
