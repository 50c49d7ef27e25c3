"""Dimensions with history: whatever waits together, is late or comes anew, they tell the same story."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from freshtide import Flow
from tests.warehouse.shop import Shop, stamp

Version = tuple[str, int, int, int | None, bool]
"""Key, value, from, to (in seconds after midnight), and whether it is open."""


def declare(shop: Shop, *, order: str | tuple[str, ...] = (), **settings: str) -> None:
    flow = Flow("history")
    arrived = flow.read(feed="moves_feed")
    arrived.write(table="moves")
    arrived.slowly_changing(table="places", key="k", type=2, compare="v", as_of="ts", order=order)
    schema = {"ts": "timestamp", "k": "string", "v": "int", "turn": "int"}
    shop.warehouse.feed(
        "moves_feed",
        **{
            "path": "landing/moves/*",
            "format": "csv",
            "schema": schema,
            "time_column": "ts",
            "settle": "renamed",
            **settings,
        },
    )
    shop.warehouse.sql(
        "CREATE STREAMING TABLE moves TBLPROPERTIES ('flow'='history') AS SELECT * FROM STREAM moves_feed"
    )
    shop.warehouse.flow(flow)


def drop(shop: Shop, name: str, rows: Iterable[tuple[int, str, int, int]]) -> None:
    lines = [f"{stamp(ts)},{key},{value},{turn}" for ts, key, value, turn in rows]
    shop.drop("moves", name, "\n".join(["ts,k,v,turn", *lines]) + "\n")


def history(shop: Shop) -> list[Version]:
    def second(row: dict[str, Any], column: str) -> int | None:
        at = row[column]
        return None if at is None else at.hour * 3600 + at.minute * 60 + at.second

    rows = (
        (row["k"], row["v"], second(row, "valid_from") or 0, second(row, "valid_to"), row["is_current"])
        for row in shop.rows("places")
    )
    return sorted(rows, key=lambda version: version[:3:2])


def test_changes_of_a_key_that_wait_together_are_applied_in_order(shop: Shop) -> None:
    declare(shop)
    drop(shop, "1.csv", [(1, "a", 10, 0), (1, "b", 10, 0)])
    shop.load()
    drop(shop, "2.csv", [(2, "a", 20, 0), (4, "a", 40, 0)])
    drop(shop, "3.csv", [(3, "a", 30, 0), (5, "a", 40, 0), (6, "b", 60, 0)])
    shop.load()
    wanted = [
        ("a", 10, 1, 2, False),
        ("a", 20, 2, 3, False),
        ("a", 30, 3, 4, False),
        ("a", 40, 4, None, True),
        ("b", 10, 1, 6, False),
        ("b", 60, 6, None, True),
    ]
    assert history(shop) == wanted
    shop.warehouse.backfill("moves")
    assert history(shop) == wanted, "a rebuild tells the same"
    shop.check()


def test_a_change_that_comes_late_finds_its_place(shop: Shop) -> None:
    declare(shop)
    drop(shop, "1.csv", [(10, "a", 1, 0), (30, "a", 3, 0)])
    shop.load()
    drop(shop, "2.csv", [(20, "a", 2, 0)])
    shop.load()
    assert history(shop) == [("a", 1, 10, 20, False), ("a", 2, 20, 30, False), ("a", 3, 30, None, True)]
    drop(shop, "3.csv", [(25, "a", 3, 0)])
    shop.load()
    assert history(shop) == [("a", 1, 10, 20, False), ("a", 2, 20, 25, False), ("a", 3, 25, None, True)]


@pytest.mark.parametrize(("order", "holds"), [("turn", 1), ((), 9)])
def test_of_changes_at_the_same_time_the_last_in_order_holds_however_they_come(
    shop: Shop, order: str | tuple[str, ...], holds: int
) -> None:
    declare(shop, order=order)
    drop(shop, "1.csv", [(1, "a", 9, 1), (1, "a", 1, 2)])
    drop(shop, "2.csv", [(1, "b", 1, 2)])
    shop.load()
    drop(shop, "3.csv", [(1, "b", 9, 1)])
    shop.load()
    wanted = [("a", holds, 1, None, True), ("b", holds, 1, None, True)]
    assert history(shop) == wanted
    shop.warehouse.backfill("moves")
    assert history(shop) == wanted


def test_a_column_that_a_feed_gains_comes_into_the_history(shop: Shop) -> None:
    declare(shop, on_schema_change="evolve")
    drop(shop, "1.csv", [(1, "a", 1, 0), (1, "b", 1, 0)])
    shop.load()
    shop.drop("moves", "2.csv", f"ts,k,v,turn,more\n{stamp(2)},a,2,0,new\n")
    shop.load()
    assert history(shop) == [("a", 1, 1, 2, False), ("a", 2, 2, None, True), ("b", 1, 1, None, True)]
    assert sorted((row["k"], row["v"], row["more"]) for row in shop.rows("places") if row["more"]) == [("a", 2, "new")]
    shop.load()
    drop(shop, "3.csv", [(3, "b", 3, 0)])
    shop.load()
    assert [version[:2] for version in history(shop)] == [("a", 1), ("a", 2), ("b", 1), ("b", 3)]
