"""What was hashed when a file arrived is what is loaded, or nothing is."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide.core.arrivals import ArrivalState
from freshtide.spark.ingest import FeedReader
from tests.examples import slow_except
from tests.warehouse.shop import EVENTS, START, Shop, stamp

_ROWS = 9_000


def content(format_: str, value: int) -> bytes:
    """As many rows of one value as are too many to be handed over as lines; of the same size for each digit."""
    if format_ == "csv":
        return ("ts,k,v\n" + f"{stamp(1)},somebody,{value}\n" * _ROWS).encode()
    if format_ == "json":
        return (f'{{"ts": "{stamp(1)}", "k": "x", "v": {value}}}\n' * 3).encode()
    sink = io.BytesIO()
    times = pa.array([START * 10**6] * 3, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": times, "k": ["x"] * 3, "v": pa.array([value] * 3, pa.int32())}), sink)
    return sink.getvalue()


def replaced(path: Path, by: bytes, *, unnoticed: bool) -> None:
    """Put other content in a file's place; `unnoticed` under the same size and time."""
    before = path.stat()
    hidden = path.with_name(f".{path.name}")
    hidden.write_bytes(by)
    if unnoticed:
        os.utime(hidden, ns=(before.st_atime_ns, before.st_mtime_ns))
    hidden.rename(path)


def when_read(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something once, between the look at the files and the moment at which Spark reads them."""
    read = FeedReader.read
    acted: list[bool] = []

    def reading(self: FeedReader, *args: Any, **kwargs: Any) -> Any:
        if not acted:
            acted.append(True)
            act()
        return read(self, *args, **kwargs)

    monkeypatch.setattr(FeedReader, "read", reading)


@pytest.mark.parametrize("format_", slow_except(["csv", "json", "parquet"], "csv", "parquet"))
@pytest.mark.parametrize("said", ["", "TBLPROPERTIES ('update_key'='k')"])
def test_a_file_that_is_replaced_before_spark_reads_it_is_put_aside(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, format_: str, said: str
) -> None:
    settings: dict[str, Any] = {"path": "landing/f/*", "format": format_, "schema": EVENTS, "time_column": "ts"}
    shop.warehouse.feed("f", **settings, settle="renamed", period="10s")
    shop.warehouse.sql(f"CREATE STREAMING TABLE t {said} AS SELECT * FROM STREAM f")
    path = shop.drop("f", "1", content(format_, 1))
    when_read(monkeypatch, lambda: replaced(path, content(format_, 2), unnoticed=True))
    shop.load()
    assert list((shop.root / "warehouse" / "t").glob("_delta_log/*.json")) == []
    (held,) = shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED)
    assert "changed after it had settled" in (held.reason or "")
    assert {count.in_table for count in shop.counts().values()} == {0}


def test_a_file_that_is_touched_and_the_same_is_loaded(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.events("a")
    path = shop.drop("a", "1.csv", content("csv", 1))
    when_read(monkeypatch, lambda: replaced(path, content("csv", 1), unnoticed=False))
    shop.load()
    assert len(shop.rows("a")) == _ROWS
    shop.check()
