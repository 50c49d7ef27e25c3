"""A warehouse for tests: files in by hand, tables out through another Delta reader."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from freshtide import Warehouse
from freshtide.observe import RowCount, count_rows
from freshtide.spark import SparkSession
from tests.catalogs import GIVEN, empty_catalog

EVENTS = {"ts": "timestamp", "k": "string", "v": "int"}
START = 1_767_225_600  # 2026-01-01T00:00:00Z


def stamp(second: float) -> str:
    """A time of day on 2026-01-01, given in seconds after midnight."""
    whole = int(second)
    fraction = f"{second - whole:.6f}"[1:] if second != whole else ""
    return f"2026-01-01T{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}{fraction}Z"


class Shop:
    """A warehouse in a folder, with the moves that tests make."""

    def __init__(self, root: Path, spark: SparkSession, **settings: Any) -> None:
        self.root = root
        self._spark = spark
        self._settings = settings
        if GIVEN and not root.exists():
            self.lose_catalog()
        # What fails is tried again soon: nobody learns anything from the wait.
        given = {"poll": "20ms", "retry": {"backoff": "50ms"}, **({"catalog": GIVEN} if GIVEN else {}), **settings}
        self.warehouse = Warehouse(root, spark=spark, **given)

    def events(self, name: str, *, properties: str = "", **settings: Any) -> None:
        """Declare a feed of CSV events in landing/<name>/ and a base table of the same rows, with more `properties`."""
        given = {"path": f"landing/{name}/*", "format": "csv", "schema": EVENTS, "time_column": "ts"}
        self.warehouse.feed(f"{name}_feed", **{**given, "settle": "renamed", "period": "10s", **settings})
        self.warehouse.sql(f"CREATE STREAMING TABLE {name} {properties} AS SELECT * FROM STREAM {name}_feed")

    def view(self, name: str, query: str, **properties: str) -> None:
        listed = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
        clause = f"TBLPROPERTIES ({listed})" if listed else ""
        self.warehouse.sql(f"CREATE MATERIALIZED VIEW {name} {clause} AS {query}")

    def drop(self, feed: str, name: str, content: str | bytes) -> Path:
        """Put a complete file into a feed's folder."""
        folder = self.root / "landing" / feed
        folder.mkdir(parents=True, exist_ok=True)
        hidden = folder / f".{name}"
        hidden.write_bytes(content.encode() if isinstance(content, str) else content)
        return hidden.rename(folder / name)

    def drop_events(self, feed: str, name: str, rows: Iterable[Sequence[object]]) -> Path:
        lines = [f"{stamp(float(str(ts)))},{key},{value}" for ts, key, value in rows]
        return self.drop(feed, name, "\n".join(["ts,k,v", *lines]) + "\n")

    def load(self) -> None:
        """Load all that is there; no table may fail."""
        report = self.warehouse.run_once()
        assert report.failed == {}

    def again(self) -> Shop:
        """The same warehouse after a restart, to be declared anew."""
        self.warehouse.close()
        return Shop(self.root, self._spark, **self._settings)

    def last_commit(self, table: str) -> Path:
        """The newest entry of the table's log: without it the process has died before it was committed."""
        return max((self.root / "warehouse" / table / "_delta_log").glob("*.json"))

    def lose_catalog(self) -> None:
        empty_catalog(self.root / ".freshtide")

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The table as polars reads it."""
        folder = self.root / "warehouse" / table
        # A folder without a log is a table that is just being created.
        if not any((folder / "_delta_log").glob("[0-9]*")):
            return []
        return pl.read_delta(str(folder)).to_dicts()

    def bag(self, table: str) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row.values()) for row in self.rows(table))

    def freshness(self, table: str) -> float | None:
        """Freshness in seconds after midnight."""
        found = self.warehouse.workbench.catalog.tables.get(table).freshness
        return None if found is None else found - START

    def counts(self) -> dict[str, RowCount]:
        bench = self.warehouse.workbench
        found = count_rows(self.warehouse.project, bench.catalog, bench.store, tuple(self.warehouse.project.graph))
        return {count.table: count for count in found}

    def check(self) -> None:
        """Every view is what its query says, and every row is accounted for."""
        for result in self.warehouse.audit():
            assert result.passed, result
        for count in self.counts().values():
            assert count.unaccounted == 0, count

    def maintenance(self, table: str) -> str:
        return str(self.warehouse.project.graph[table].maintain)


def touch(path: Path, at: float) -> None:
    os.utime(path, (at, at))
