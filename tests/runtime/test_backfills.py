"""A rebuild ends when all that it can reach is done, and tells the rest."""

from __future__ import annotations

from typing import Any

import pytest

from freshtide.catalog import Catalog, Request, RequestKind, TableRow
from freshtide.core.graph import TableGraph
from freshtide.runtime.backfills import Backfills
from freshtide.runtime.owing import Owed
from tests.catalog.conftest import catalog, url
from tests.core.declared import base, view

__all__ = ["catalog", "url"]

GRAPH = TableGraph(
    [
        base("t"),
        base("other"),
        view("a", "t"),
        view("b", "a"),
        view("c", "b", "t"),
        view("alone", "other"),
    ]
)


class Rebuild:
    """A requested rebuild of `t`, with the tables as they stand."""

    def __init__(self, catalog: Catalog, **standing: dict[str, Any]) -> None:
        self._requests = catalog.requests
        self._owed = Owed(on_failure=lambda error: pytest.fail(str(error)))
        self.backfills = Backfills(GRAPH, catalog.requests, self._owed)
        self._number = catalog.requests.add(RequestKind.BACKFILL, "t", at=1.0)
        rows = {name: TableRow(**{"name": name, "freshness": 1.0, **standing.get(name, {})}) for name in GRAPH}
        self.backfills.begin(self._number, "t", rows)

    def rebuilt(self, *units: str) -> None:
        for unit in units:
            self.backfills.rebuilt(unit)

    def answer(self) -> Request:
        self._owed.settle()
        request = self._requests.get(self._number)
        assert request is not None
        return request


def test_it_ends_with_the_last_dependent(catalog: Catalog) -> None:
    rebuild = Rebuild(catalog)
    rebuild.rebuilt("alone", "a", "t", "a", "b")
    assert not rebuild.answer().done, "what was revised before the table does not count"
    rebuild.rebuilt("c")
    assert rebuild.answer().succeeded
    assert rebuild.answer().message == "'t' has been rebuilt, and so has all that depends on it: 'a', 'b', 'c'."


def test_what_is_behind_a_failed_table_is_not_waited_for_unless_there_is_another_way(catalog: Catalog) -> None:
    rebuild = Rebuild(catalog, a={"status": "failed", "reason": "No."})
    rebuild.rebuilt("t", "c")
    assert rebuild.answer().done
    assert not rebuild.answer().succeeded
    assert rebuild.answer().message == (
        "'t' has been rebuilt, and so has 'c'. Not rebuilt: 'a', which has failed: No; 'b', which waits for 'a'. "
        "They are rebuilt after `freshtide resume a`."
    )


@pytest.mark.parametrize("fails", [False, True])
def test_what_fails_or_is_paused_on_the_way_does_not_keep_it_from_ending(catalog: Catalog, *, fails: bool) -> None:
    rebuild = Rebuild(catalog)
    rebuild.rebuilt("t", "a", "c")
    assert not rebuild.answer().done
    if fails:
        rebuild.backfills.failed("b", "No.")
    else:
        rebuild.backfills.paused("b")
    assert rebuild.answer().done
    assert not rebuild.answer().succeeded


def test_where_the_table_itself_fails_nothing_else_is_waited_for(catalog: Catalog) -> None:
    rebuild = Rebuild(catalog)
    rebuild.backfills.failed("t", "Its files are gone.")
    assert rebuild.answer().message == "'t' was not rebuilt: it has failed: Its files are gone."
    assert not rebuild.answer().succeeded


def test_a_dependent_without_data_has_nothing_to_rebuild(catalog: Catalog) -> None:
    empty = {"freshness": None}
    rebuild = Rebuild(catalog, a=empty, b=empty, c=empty)
    rebuild.rebuilt("t")
    assert rebuild.answer().succeeded
    assert rebuild.answer().message == (
        "'t' has been rebuilt. Not rebuilt: 'a', which has no data yet; 'b', which has no data yet; 'c', which has no "
        "data yet."
    )


def test_it_goes_on_without_tables_that_are_taken_out_meanwhile(catalog: Catalog) -> None:
    rebuild = Rebuild(catalog)
    rebuild.rebuilt("t", "a")
    rebuild.backfills.follow(TableGraph([base("t"), base("other"), view("a", "t"), view("alone", "other")]))
    answer = rebuild.answer()
    assert answer.succeeded
    assert "'b', which is declared no longer" in (answer.message or "")


def test_a_rebuild_of_a_table_that_is_taken_out_has_failed(catalog: Catalog) -> None:
    rebuild = Rebuild(catalog)
    rebuild.backfills.follow(TableGraph([base("other"), view("alone", "other")]))
    answer = rebuild.answer()
    assert (answer.done, answer.succeeded) == (True, False)
    assert answer.message == "'t' was not rebuilt: it is declared no longer."
