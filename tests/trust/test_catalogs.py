"""Catalogs that break, and who can read them."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from freshtide.catalog import Catalog
from freshtide.catalog.catalog import BrokenCatalogError
from tests.catalogs import GIVEN
from tests.warehouse.shop import Shop

on_sqlite = pytest.mark.skipif(GIVEN is not None, reason="the catalog is no file")


def _overwrite(database: Path, *, beginning: int) -> None:
    """Destroy the file from some byte on, the header or all that comes after it."""
    with database.open("r+b") as file:
        file.seek(beginning)
        file.write(b"broken" * ((database.stat().st_size - beginning) // 6))


@on_sqlite
@pytest.mark.parametrize("beginning", [0, 100])
def test_a_broken_catalog_is_told_with_a_way_out_that_works(shop: Shop, beginning: int) -> None:
    database = shop.root / ".freshtide" / "catalog.db"
    _declare(shop)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.drop("a", "2.csv", "not,what\nwas,declared\n")
    shop.load()
    shop.drop_events("a", "3.csv", [(3, "x", 3)])
    shop.drop_events("a", "copy of 1.csv", [(1, "x", 1)])
    shop.warehouse.close()
    _overwrite(database, beginning=beginning)
    again = shop.again()
    _declare(again)
    with pytest.raises(BrokenCatalogError, match="broken") as told:
        again.warehouse.run_once()
    said = f"mv {database} {database}.broken"
    assert told.value.way_out is not None
    assert said in told.value.way_out
    database.rename(f"{database}.broken")
    again.load()
    assert sorted(row["v"] for row in again.rows("a")) == [1, 3]
    assert [row["total"] for row in again.rows("sums")] == [4]
    again.check()
    (feed,) = again.warehouse.status().feeds
    assert feed.files == {"ready": 2, "duplicate": 1, "quarantined": 1}
    again.warehouse.close()


def _declare(shop: Shop) -> None:
    shop.events("a")
    shop.view("sums", "SELECT sum(v) AS total FROM a")


@on_sqlite
def test_a_catalog_that_breaks_while_it_is_used_is_told_too(tmp_path: Path) -> None:
    database = tmp_path / "catalog.db"
    catalog = Catalog.open(f"sqlite:///{database}")
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    catalog.close()
    catalog = Catalog.open(f"sqlite:///{database}")
    _overwrite(database, beginning=4_096)
    with pytest.raises(BrokenCatalogError, match="malformed"):
        catalog.arrivals.counts()
    catalog.close()


@on_sqlite
def test_only_the_owner_can_look_into_the_state(shop: Shop) -> None:
    shop.events("a")
    shop.load()
    state = shop.root / ".freshtide"
    assert _permissions(state) == 0o700
    assert _permissions(state / "catalog.db") == 0o600
    shop.warehouse.close()
    state.chmod(0o755)
    again = shop.again()
    again.events("a")
    again.load()
    assert _permissions(state) == 0o700, "as an earlier version left it"
    again.warehouse.close()


def _permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
