"""What is asked of a warehouse, while it runs or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from freshtide import Warehouse
from freshtide.catalog import Catalog, RunLease
from freshtide.catalog.requests import NoAnswerError
from freshtide.catalog.requests import RequestKind as Kind
from freshtide.requests import ask_the_run
from freshtide.runs import Places
from tests.catalogs import GIVEN, empty_catalog


@pytest.fixture
def resting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A warehouse whose Spark cannot be started."""

    def no_spark(*_settings: object, **_more: object) -> None:
        raise AssertionError("Spark is not needed for this")

    monkeypatch.setattr("freshtide.runtime.composition.start_session", no_spark)
    empty_catalog(tmp_path / ".freshtide")
    settings: dict[str, Any] = {"catalog": GIVEN} if GIVEN else {}
    warehouse = Warehouse(tmp_path, **settings)
    warehouse.feed(
        "orders_feed", path="landing/*", format="csv", schema={"ts": "timestamp", "v": "int"}, time_column="ts"
    )
    for table in ("orders", "others"):
        warehouse.sql(f"CREATE STREAMING TABLE {table} AS SELECT * FROM STREAM orders_feed")
    return warehouse


def statuses(warehouse: Warehouse) -> dict[str, str]:
    catalog = Catalog.open(Places(warehouse.project).catalog_url)
    try:
        return {name: catalog.tables.get(name).status for name in warehouse.project.graph}
    finally:
        catalog.close()


def test_a_table_is_paused_and_resumed_at_rest_without_a_run(resting: Warehouse) -> None:
    assert resting.pause("orders") == "'orders' is paused."
    assert statuses(resting) == {"orders": "paused", "others": "active"}
    assert resting.resume("orders") == "'orders' takes part again."
    assert statuses(resting) == {"orders": "active", "others": "active"}


def test_a_run_that_does_not_answer_does_nothing_later(resting: Warehouse) -> None:
    places = Places(resting.project)
    catalog = Catalog.open(places.catalog_url)
    with (
        RunLease(places.lock, catalog.seat),
        pytest.raises(NoAnswerError, match="nothing was done"),
    ):
        ask_the_run(resting.project, catalog, Kind.PAUSE, "orders", at=1.0, longest=0.2)
    assert catalog.requests.open_after(0) == []
    catalog.close()
