"""What must hold, looked at from outside: polars and DuckDB over the Delta tables, JSON over their logs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from chaos.supply import Kind, Row, Truth
from chaos.world import LATEST_VIEWS, VIEWS, View

_FIRST_NUMBER = re.compile(r"\d+")
_SIDES = ("__rejects", "__late")


class Oracle:
    """Looks at the tables; what is wrong comes back as sentences."""

    def __init__(self, storage: Path, out: Path, truth: Truth) -> None:
        self._storage = storage
        self._out = out
        self._truth = truth
        self._seen: dict[str, tuple[int, int, int | None]] = {}
        """By table: the last version looked at, the number of its update and its freshness."""

    def while_running(self) -> list[str]:
        """What holds at any moment, killed or not: no row is there twice, and no table goes back."""
        wrong = [*self._histories()]
        for feed, tables in _TABLES_OF.items():
            for table in tables:
                for place in (table, f"{table}__late", f"{table}__rejects"):
                    wrong += _twice(place, self._ids(place))
                both = [*self._ids(table), *self._ids(f"{table}__late")]
                wrong += _twice(f"{table} and {table}__late", both)
                unknown = set(both) - {row.id for row in self._truth.of(feed)}
                wrong += [f"{table} holds rows that nobody supplied: {_some(unknown)}"] if unknown else []
        return wrong

    def at_rest(self) -> list[str]:
        """What holds once everything that was supplied has been loaded."""
        wrong = [*self.while_running()]
        wrong += self._base("orders", "orders", self._truth.of("orders"))
        wrong += self._base("slim_orders", "orders", self._truth.of("orders"))
        wrong += self._base("large_orders", "orders", [row for row in self._truth.of("orders") if _is_large(row)])
        wrong += self._base("clicks", "clicks", self._truth.of("clicks"))
        wrong += self._base("readings", "readings", self._truth.of("readings"))
        wrong += self._flow()
        wrong += self._latest()
        for name, view in VIEWS.items():
            wrong += self._view(name, view, self._freshness(name))
        for name, view in LATEST_VIEWS.items():
            wrong += self._view(name, view, None)
        return wrong

    def _base(self, table: str, feed: str, passed: Iterable[Row]) -> list[str]:
        """Each row once: in the table, its rejects or its late rows, as it is."""
        passed = list(passed)
        loaded, late = Counter(self._ids(table)), Counter(self._ids(f"{table}__late"))
        tardy = Counter(row.id for row in passed if row.kind is Kind.TARDY)
        wrong = _differ(f"{table}__rejects", self._ids(f"{table}__rejects"), _ids(self._truth.of(feed, Kind.BAD)))
        good = _ids(row for row in passed if row.kind is Kind.GOOD)
        wrong += _differ(f"{table}, rows in time", (loaded - tardy).elements(), good)
        wrong += _differ(f"{table}, tardy rows", ((loaded & tardy) + late).elements(), tardy.elements())
        return wrong

    def _flow(self) -> list[str]:
        """A flow's targets agree with each other and with what was supplied."""
        wrong = _differ("sales", self._ids("sales"), _ids(self._truth.of("sales", Kind.GOOD)))
        wrong += _differ("unpriced", self._ids("unpriced"), _ids(self._truth.of("sales", Kind.UNPRICED)))
        sold = Counter(row.key for row in self._truth.of("sales", Kind.GOOD))
        files = sorted(self._out.glob("keys/*.parquet"))
        counted = pl.concat([pl.read_parquet(file) for file in files]).group_by("k").agg(pl.col("n").sum())
        written = Counter(dict(counted.iter_rows()))
        return wrong + _differ("out/keys", written.elements(), sold.elements())

    def _latest(self) -> list[str]:
        newest = {row.key: row.id for row in self._truth.of("ticks")}
        held = [f"{row['k']}:{row['id']}" for row in self._read("quotes").to_dicts()]
        return _differ("quotes", held, (f"{key}:{number}" for key, number in newest.items()))

    def _view(self, name: str, view: View, freshness: datetime | None) -> list[str]:
        """A view is its query over the rows of its base tables up to its freshness."""
        with duckdb.connect() as base:
            base.execute("SET TimeZone='UTC'")
            for source in view.sources:
                rows = self._read(source)
                if freshness is not None:
                    rows = rows.filter(pl.col("ts") <= freshness)
                base.register(source, rows.to_arrow())
            expected = pl.DataFrame(base.sql(view.query).to_arrow_table())
        found = self._read(name)
        return _differ(name, _tuples(found.select(expected.columns)), _tuples(expected))

    def _freshness(self, table: str) -> datetime | None:
        _, _, freshness = self._seen.get(table, (0, 0, None))
        return None if freshness is None else datetime.fromtimestamp(freshness / 1_000_000, UTC)

    def _histories(self) -> list[str]:
        """Follow the logs of tables and views: numbers go up one by one, and freshness never goes back."""
        wrong: list[str] = []
        for folder in sorted(path for path in self._storage.glob("*") if not path.name.startswith(("_", "."))):
            if folder.name.endswith(_SIDES) or folder.name in _WITHOUT_FRESHNESS:
                continue
            wrong += self._history(folder)
        return wrong

    def _history(self, folder: Path) -> list[str]:
        table = folder.name
        version, number, freshness = self._seen.get(table, (-1, 0, None))
        wrong = []
        while (entry := folder / "_delta_log" / f"{version + 1:020d}.json").exists():
            said = _said(entry)
            if said is None:
                break  # Torn by the kill: the next start removes it.
            version += 1
            if "number" not in said:
                continue
            if said["number"] != number + 1:
                wrong.append(f"{table}: update {said['number']} follows on update {number} in version {version}")
            if freshness is not None and (said["freshness"] is None or said["freshness"] < freshness):
                wrong.append(f"{table}: its freshness goes back from {freshness} to {said['freshness']}")
            number, freshness = said["number"], said["freshness"]
        self._seen[table] = (version, number, freshness)
        return wrong

    def _ids(self, table: str) -> list[int]:
        rows = self._read(table)
        if table.endswith("__rejects") and "content" in rows.columns:
            return [int(found[0]) for text in rows["content"] if (found := _FIRST_NUMBER.search(text))]
        return rows["id"].to_list() if "id" in rows.columns else []

    def _read(self, table: str) -> pl.DataFrame:
        folder = self._storage / table
        if not any(folder.glob("_delta_log/*.json")):
            return pl.DataFrame()
        return pl.read_delta(str(folder))

    def updates(self) -> int:
        """How many entries all logs have together."""
        return sum(1 for _ in self._storage.glob("*/_delta_log/*.json"))


_TABLES_OF = {
    "orders": ("orders", "slim_orders", "large_orders"),
    "clicks": ("clicks",),
    "readings": ("readings",),
    "sales": ("sales", "unpriced"),
}
_WITHOUT_FRESHNESS = ("unpriced",)


def _is_large(row: Row) -> bool:
    return row.value is not None and row.value >= 5


def _said(entry: Path) -> dict[str, Any] | None:
    """What a commit says of itself; None while it is torn."""
    text = entry.read_text(encoding="utf-8", errors="replace")
    try:
        actions = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return None
    infos = [action["commitInfo"] for action in actions if "commitInfo" in action]
    said: dict[str, Any] | None = infos[0].get("freshtide", {}) if infos else None
    return said


def _ids(rows: Iterable[Row]) -> list[int]:
    return [row.id for row in rows]


def _tuples(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    times = [pl.col(pl.Datetime).dt.convert_time_zone("UTC").dt.cast_time_unit("us")]
    whole = [pl.col(pl.Int32, pl.Int64, pl.Int128, pl.Decimal).cast(pl.Int64)]
    return list(frame.with_columns(*times, *whole).iter_rows())


def _differ(what: str, found: Iterable[object], expected: Iterable[object]) -> list[str]:
    has, should = Counter(found), Counter(expected)
    lost, more = should - has, has - should
    wrong = []
    if lost:
        wrong.append(f"{what}: {lost.total()} missing: {_some(lost)}")
    if more:
        wrong.append(f"{what}: {more.total()} too many: {_some(more)}")
    return wrong


def _twice(where: str, ids: Iterable[int]) -> list[str]:
    more = [number for number, times in Counter(ids).items() if times > 1]
    return [f"{where}: {len(more)} rows more than once: {_some(more)}"] if more else []


def _some(values: Iterable[object]) -> str:
    listed = sorted(map(str, values))
    return ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")
