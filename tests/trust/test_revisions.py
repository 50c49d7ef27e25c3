"""A revision that lands in a source while a view of it is being computed reaches the view."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from freshtide.core.instants import micros
from freshtide.spark import TableStates
from freshtide.storage import Change, StoredTable
from tests.warehouse.shop import START, Shop


def revise(sales: StoredTable) -> None:
    """What a load of late rows does, on another track."""
    snapshot = sales.snapshot
    assert snapshot is not None
    assert snapshot.record is not None
    at = micros(START + 2)
    rows = pa.table({"ts": pa.array([at], pa.timestamp("us", "UTC")), "k": ["late"], "v": pa.array([100], pa.int32())})
    record = replace(snapshot.record, number=snapshot.number + 1, files=(), revised_from=at)
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
