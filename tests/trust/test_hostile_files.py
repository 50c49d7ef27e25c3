"""Files that mean harm, or that are simply too many or too large: they are told, and the good ones beside them load."""

from __future__ import annotations

import gzip
import threading
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide.catalog import UpdateStatus
from freshtide.core import pieces
from freshtide.core.arrivals import ArrivalState
from freshtide.core.pieces import LONGEST_PIECE
from tests.warehouse.shop import Shop, stamp


def test_a_link_to_a_file_elsewhere_does_not_bring_it_into_the_warehouse(shop: Shop, tmp_path: Path) -> None:
    secret = tmp_path / "passwd"
    secret.write_text("root:x:0:0:root:/root:/bin/bash\n")
    shop.events("a", header=False)
    shop.drop("a", "1.csv", f"{stamp(1)},x,1\n")
    (shop.root / "landing" / "a" / "link.csv").symlink_to(secret)
    shop.load()
    assert [row["k"] for row in shop.rows("a")] == ["x"]
    assert shop.rows("a__rejects") == []
    (feed,) = shop.warehouse.status().feeds
    assert "leads out of the feed's folder" in feed.faults[0]


def test_a_parquet_bomb_is_kept_aside_and_the_file_beside_it_loads(shop: Shop) -> None:
    shop.events("a", format="parquet", schema={"ts": "timestamp", "v": "bigint"})
    folder = shop.root / "landing" / "a"
    folder.mkdir(parents=True)
    moment = pa.scalar(datetime(2026, 1, 1, tzinfo=UTC), pa.timestamp("us", "UTC"))
    bomb = pa.table({"ts": pa.repeat(moment, 10_000_000), "v": pa.repeat(pa.scalar(7, pa.int64()), 10_000_000)})
    pq.write_table(bomb, folder / ".bomb", compression="zstd")
    (folder / ".bomb").rename(folder / "bomb.parquet")
    pq.write_table(bomb.slice(0, 3), folder / ".good")
    (folder / ".good").rename(folder / "good.parquet")
    shop.load()
    assert len(shop.rows("a")) == 3
    (held,) = shop.warehouse.status().feeds[0].troubled
    assert held.state is ArrivalState.QUARANTINED
    assert "10,000,000 rows" in (held.reason or "")
    assert "max_size" in (held.reason or "")


def test_packed_rows_go_the_way_of_what_they_unpack_to(shop: Shop) -> None:
    shop.events("a")
    rows = "".join(f"{stamp(n % 60)},x,1\n" for n in range(20_000))
    packed = gzip.compress(("ts,k,v\n" + rows).encode())
    assert len(packed) * 6 < len(rows)
    shop.drop("a", "1.csv.gz", packed)
    shop.load()
    (file,) = shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.READY)
    assert file.weight == len("ts,k,v\n" + rows)
    assert len(shop.rows("a")) == 20_000


@pytest.mark.parametrize("properties", ["", "TBLPROPERTIES ('update_key'='k')"])
def test_a_backlog_is_loaded_in_pieces_and_a_run_that_ends_early_keeps_those_it_has(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, properties: str
) -> None:
    monkeypatch.setattr(pieces, "FIRST_RATE", 300_000 / LONGEST_PIECE)
    shop.events("a", properties=properties)
    for number in range(12):
        shop.drop_events("a", f"{number:02d}.csv", [(number + 1, f"k{number}", number)])
    if not properties:
        stop = threading.Event()
        shop.warehouse.run(stop=stop, until=lambda: len(shop.rows("a")) > 0)
        assert 0 < len(shop.rows("a")) < 12
    shop.load()
    assert sorted(row["v"] for row in shop.rows("a")) == list(range(12))
    updates = shop.warehouse.workbench.catalog.updates.recent("a", 50)
    assert all(update.status is UpdateStatus.DONE for update in updates)
    if not properties:
        assert len(updates) > 2
    shop.check()
