"""Seeds on Spark: files beside a project that are edited between runs, while one goes on, and into other columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from freshtide import Warehouse
from freshtide.spark import SparkSession
from tests.waiting import or_too_late

FEED = """
path: landing/*.csv
format: csv
schema: {ts: timestamp, k: string, v: int}
time_column: ts
settle: renamed
period: 10s
"""
TABLES = """
CREATE STREAMING TABLE sales AS SELECT * FROM STREAM sales_feed;
CREATE MATERIALIZED VIEW named AS SELECT s.ts, s.v, c.* FROM sales s LEFT JOIN countries c ON s.k = c.code;
"""


class Folder:
    """A project with a seed, as a user has it on disk."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.root, self._spark = root, spark
        self.last = "Germany"
        """What a test has last written into the seed."""
        self.write("freshtide.yml", "name: shop\npoll: 20ms\nretry: {backoff: 50ms}\n")
        self.write("feeds/sales_feed.yml", FEED)
        self.write("tables/tables.sql", TABLES)
        self.write("landing/1.csv", "ts,k,v\n2026-01-01T00:00:01Z,de,1\n2026-01-01T00:00:02Z,fr,2\n")
        self.write("seeds/countries.csv", "code,name,rank\nde,Germany,1\nfr,France,2\n")

    def write(self, file: str, text: str) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def open(self) -> Warehouse:
        return Warehouse.open(self.root, spark=self._spark)

    def load(self) -> None:
        """Run once, from a project that is read anew, and look whether all is what it should be."""
        with self.open() as warehouse:
            assert warehouse.run_once().failed == {}
            assert all(result.passed for result in warehouse.audit())

    @property
    def is_named(self) -> bool:
        """Whether the view has its first version."""
        return (self.root / "warehouse/named/_delta_log/00000000000000000000.json").exists()

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        return sorted(pl.read_delta(str(self.root / "warehouse" / table)).select(*columns).rows())


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Folder:
    return Folder(tmp_path / "shop", spark)


def test_a_seed_that_is_edited_between_runs_takes_its_own_place_and_views_follow(folder: Folder) -> None:
    folder.load()
    assert folder.rows("named", "v", "name", "rank") == [(1, "Germany", 1), (2, "France", 2)]
    folder.write("seeds/countries.csv", "code,name,rank\nde,Deutschland,1\n")
    folder.load()
    assert folder.rows("countries", "name") == [("Deutschland",)]
    assert folder.rows("named", "v", "name") == [(1, "Deutschland"), (2, None)]
    folder.load()
    assert folder.rows("named", "v", "name") == [(1, "Deutschland"), (2, None)], "and nothing else comes of it"


def test_a_seed_may_get_other_columns_and_types_between_runs(folder: Folder) -> None:
    folder.load()
    folder.write("seeds/countries.csv", "code,name,rank,euro\nde,Germany,1.5,true\nfr,France,2,true\n")
    folder.load()
    assert folder.rows("countries", "name", "rank", "euro") == [("France", 2.0, True), ("Germany", 1.5, True)]
    assert folder.rows("named", "v", "rank", "euro") == [(1, 1.5, True), (2, 2.0, True)]


def test_a_seed_that_gets_other_columns_while_a_run_goes_on_is_put_aside_until_the_next_one(folder: Folder) -> None:
    edited = iter(["code,name,rank,euro\nde,Deutschland,1,true\n"])

    def is_put_aside() -> bool:
        if not folder.is_named:
            return False
        for text in edited:
            folder.write("seeds/countries.csv", text)
        return any(feed.troubled for feed in warehouse.status().feeds)

    with folder.open() as warehouse:
        warehouse.run(until=or_too_late(is_put_aside))
        (file,) = (file for feed in warehouse.status().feeds for file in feed.troubled)
        assert "it adds 'euro'" in (file.reason or "")
    assert folder.rows("named", "v", "name") == [(1, "Germany"), (2, "France")], "as it was before"
    folder.load()
    assert folder.rows("named", "v", "name", "euro") == [(1, "Deutschland", True), (2, None, None)]


def test_a_seed_that_is_edited_while_a_run_goes_on_is_followed(folder: Folder) -> None:
    edits = iter(["Deutschland", "Allemagne"])

    def is_followed() -> bool:
        """Edit the seed whenever what it said before has come through."""
        if not folder.is_named:
            return False
        if folder.rows("named", "v", "name")[0][1] != folder.last:
            return False
        name = next(edits, None)
        if name is None:
            return True
        folder.last = name
        folder.write("seeds/countries.csv", f"code,name,rank\nde,{name},1\n")
        return False

    with folder.open() as warehouse:
        warehouse.run(until=or_too_late(is_followed))
        assert folder.rows("named", "v", "name") == [(1, "Allemagne"), (2, None)]
        assert all(result.passed for result in warehouse.audit())
        counts = {table.name: table for table in warehouse.status().tables}
        assert (counts["countries"].is_reference, counts["countries"].update_staleness) == (True, 0.0)
