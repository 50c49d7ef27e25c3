"""A revision that lands in a source while a view of it is being computed reaches the view."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from freshtide.core.instants import micros
from freshtide.spark import TableStates
from freshtide.storage import BEGINNING, Change, LatestTable, StoredTable
from tests.warehouse.shop import START, Shop
from tests.warehouse.test_update_tables import newest, update_table


def revise(sales: StoredTable) -> None:
    """What a load of late rows does, on another track."""
    snapshot = sales.snapshot
    assert snapshot is not None
    assert snapshot.record is not None
    at = micros(START + 2)
    rows = pa.table({"ts": pa.array([at], pa.timestamp("us", "UTC")), "k": ["late"], "v": pa.array([100], pa.int32())})
    record = replace(snapshot.record, number=snapshot.number + 1, arrivals=(), revised_from=at)
    files = tuple(sales.write(rows, number=record.number))
    sales.commit(Change(record=record, at=START, schema=snapshot.schema, add=files))


def test_what_is_revised_while_a_view_is_computed_comes_into_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.events("sales")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, sum(v) AS total FROM sales GROUP BY 1")
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (200, "b", 2)])
    shop.load()
    shop.drop_events("sales", "2.csv", [(300, "c", 4)])
    asked = TableStates.revised_since
    revisions = 0

    def asked_in_between(states: TableStates, name: str, number: int) -> int | None:
        nonlocal revisions
        answer = asked(states, name, number)
        if not revisions:
            revisions += 1
            revise(shop.warehouse.workbench.store.table("sales"))
        return answer

    monkeypatch.setattr(TableStates, "revised_since", asked_in_between)
    shop.load()
    shop.load()
    assert revisions == 1
    assert sorted(row["total"] for row in shop.rows("minutes")) == [2, 4, 101]


def let_go(table: LatestTable, key: str) -> None:
    """What an update of a view does whose query gives no row for a key any more, on another track."""
    snapshot = table.stored.snapshot
    assert snapshot is not None
    assert snapshot.record is not None
    number = snapshot.number + 1
    merge = table.replace(snapshot.schema.empty_table(), of=pa.array([key]), number=number)
    record = replace(snapshot.record, number=number, revised_from=BEGINNING, left=merge.left)
    table.stored.commit(Change(record=record, at=START, schema=snapshot.schema, add=merge.add, remove=merge.remove))


def test_a_key_that_leaves_a_view_while_one_of_it_is_computed_leaves_that_too(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    update_table(shop)
    shop.view("dear", "SELECT ts, k, v FROM quotes WHERE v > 0", update_key="k")
    shop.view("seen", "SELECT ts, k, v FROM dear", update_key="k")
    shop.drop_events("quotes", "1.csv", [(1, "a", 10), (1, "b", 5)])
    shop.load()
    shop.drop_events("quotes", "2.csv", [(2, "b", 6)])
    dear = LatestTable(shop.warehouse.workbench.store.table("dear", time_column="ts"), key=("k",), time_column="ts")
    asked = StoredTable.keys_left_since
    gone = 0

    def asked_in_between(table: StoredTable, number: int) -> bool:
        nonlocal gone
        answer = asked(table, number)
        if table.name == "dear" and not gone:
            gone += 1
            let_go(dear, "a")
        return answer

    monkeypatch.setattr(StoredTable, "keys_left_since", asked_in_between)
    shop.load()
    shop.drop_events("quotes", "3.csv", [(3, "b", 7)])
    shop.load()
    assert gone == 1
    assert newest(shop, "seen") == {"b": 7}
