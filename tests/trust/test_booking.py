"""What goes wrong after a commit, while it is written down."""

from __future__ import annotations

from typing import Any

import pytest

from freshtide.catalog import Catalog
from tests.warehouse.shop import Shop


@pytest.mark.parametrize("grouped", [False, True])
def test_a_commit_that_could_not_be_booked_is_found_by_the_next_try_and_not_made_twice(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, grouped: bool
) -> None:
    shop.events("a")
    group = {"update_group": "both"} if grouped else {}
    shop.view("first", "SELECT ts, v FROM a", **group)
    shop.view("second", "SELECT ts, v FROM a", **group)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    book, failed = Catalog.book_update, set()

    def book_badly(catalog: Catalog, row: Any, *given: Any, **named: Any) -> None:
        if row.name not in failed:
            failed.add(row.name)
            raise RuntimeError("not now")
        book(catalog, row, *given, **named)

    monkeypatch.setattr(Catalog, "book_update", book_badly)
    shop.load()
    shop.drop_events("a", "2.csv", [(2, "y", 2)])
    shop.load()
    assert failed == {"a", "first", "second"}
    for table in ("a", "first", "second"):
        assert sorted(row["v"] for row in shop.rows(table)) == [1, 2]
    shop.check()
