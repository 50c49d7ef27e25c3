"""What must hold, looked at from outside: polars and DuckDB over the Delta tables, JSON over their logs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from chaos.logs import Logs
from chaos.supply import Kind, Row, Truth
from chaos.world import LATEST_VIEWS, VIEWS, View

_FIRST_NUMBER = re.compile(r"\d+")
_SIDES = ("__rejects", "__late")
_ALL = ("id", "ts", "k", "v", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """What is known of a table from its log so far."""

    version: int = -1
    number: int = 0
    """Of its last update."""
    freshness: int | None = None
    epoch: int = 0
    """Of the right to write that its last entry was made with."""


class Oracle:
    """Looks at the tables; what is wrong comes back as sentences."""

    def __init__(self, storage: Path, out: Path, truth: Truth, logs: Logs) -> None:
        self._storage = storage
        self._out = out
        self._truth = truth
        self._logs = logs
        self._seen: dict[str, _Standing] = {}
        """By table."""

    def while_running(self) -> list[str]:
        """What holds at any moment, killed or not: no row is there twice, and no table goes back."""
        if wrong := self._histories():
            return wrong  # There may be nothing that can be read.
        for feed, tables in _TABLES_OF.items():
            supplied = {row.id for row in self._truth.of(feed)}
            for table in tables:
                loaded, late = self._ids(table), self._ids(f"{table}__late")
                rejected = self._ids(f"{table}__rejects")
                wrong += _twice(f"{table}, {table}__late and {table}__rejects", [*loaded, *late, *rejected])
                unknown = {*loaded, *late, *rejected} - supplied
                wrong += [f"{table} holds rows that nobody supplied: {_some(unknown)}"] if unknown else []
        return wrong

    def at_rest(self) -> list[str]:
        """What holds once everything that was supplied has been loaded."""
        if wrong := self._histories():
            return wrong
        wrong = self.while_running()
        orders = self._truth.of("orders")
        wrong += self._base("orders", "orders", orders, _ALL)
        wrong += self._base("slim_orders", "orders", orders, ("id", "ts"))
        wrong += self._base("large_orders", "orders", [row for row in orders if _is_large(row)], ("id", "ts", "v"))
        wrong += self._base("clicks", "clicks", self._truth.of("clicks"), _ALL)
        wrong += self._base("readings", "readings", self._truth.of("readings"), _ALL)
        wrong += self._flow()
        wrong += self._latest()
        for name, view in VIEWS.items():
            wrong += self._behind(name, view)
            wrong += self._view(name, view, self._freshness(name))
        for name, view in LATEST_VIEWS.items():
            wrong += self._behind(name, view)
            wrong += self._view(name, view, None)
        return wrong

    def _base(self, table: str, feed: str, passed: Iterable[Row], columns: Sequence[str]) -> list[str]:
        """Each row once: in the table, its rejects or its late rows, as it is."""
        passed = list(passed)
        loaded, late = self._rows(table, columns), self._rows(f"{table}__late", columns)
        tardy = Counter(_values(row, columns) for row in passed if row.kind is Kind.TARDY)
        wrong = _differ(f"{table}__rejects", self._ids(f"{table}__rejects"), _ids(self._truth.of(feed, Kind.BAD)))
        good = (_values(row, columns) for row in passed if row.kind is Kind.GOOD)
        wrong += _differ(f"{table}, rows in time", (loaded - tardy).elements(), good)
        wrong += _differ(f"{table}, tardy rows", ((loaded & tardy) + late).elements(), tardy.elements())
        return wrong

    def _flow(self) -> list[str]:
        """A flow's targets agree with each other and with what was supplied."""
        sold = self._truth.of("sales", Kind.GOOD)
        taxed = ((*_values(row, _ALL), 10 * (row.value or 0)) for row in sold)
        wrong = _differ("sales", self._rows("sales", (*_ALL, "tax")).elements(), taxed)
        unpriced = (_values(row, _ALL) for row in self._truth.of("sales", Kind.UNPRICED))
        wrong += _differ("unpriced", self._rows("unpriced", _ALL).elements(), unpriced)
        keys: Counter[object] = Counter()
        for file in sorted(self._out.glob("keys/*.parquet")):
            keys.update(dict(pl.read_parquet(file, columns=["k", "n"]).iter_rows()))
        return wrong + _differ("out/keys", keys.elements(), (row.key for row in sold))

    def _latest(self) -> list[str]:
        newest = {row.key: _values(row, _ALL) for row in self._truth.of("ticks")}
        return _differ("quotes", self._rows("quotes", _ALL).elements(), newest.values())

    def _behind(self, name: str, view: View) -> list[str]:
        """A view that could be fresher than it is."""
        freshness = self._freshness(name)
        due = min(self._truth.complete_upto[feed] for feed in view.feeds)
        if freshness is not None and freshness >= due:
            return []
        return [f"{name} is as of {freshness}, and all up to {due} has been supplied"]

    def _view(self, name: str, view: View, freshness: datetime | None) -> list[str]:
        """A view is its query over the rows of its base tables up to its freshness."""
        if missing := [table for table in (name, *view.sources) if not self._read(table).width]:
            return [f"{name} cannot be compared: there is no {missing[0]}"]
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
        freshness = self._seen.get(table, _Standing()).freshness
        return None if freshness is None else datetime.fromtimestamp(freshness / 1_000_000, UTC)

    def _histories(self) -> list[str]:
        """Follow the logs of all tables and views as far as they go."""
        wrong: list[str] = []
        for table in self._logs.tables():
            newest = self._logs.newest(table)
            seen = self._seen.get(table, _Standing())
            # What a kill has torn is removed by the next start.
            while seen.version < newest and (said := self._logs.said(table, seen.version + 1)) is not None:
                wrong += [f"{table}, version {seen.version + 1}: {problem}" for problem in _unsound(table, seen, said)]
                seen = _after(seen, said)
            self._seen[table] = seen
            if self._logs.is_beyond(table, newest):
                wrong.append(f"{table}: its log goes on after version {newest}, and the next one is missing")
        return wrong

    def _rows(self, table: str, columns: Sequence[str]) -> Counter[tuple[object, ...]]:
        rows = self._read(table)
        return Counter(_tuples(rows.select(columns))) if rows.width else Counter()

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


_TABLES_OF = {
    "orders": ("orders", "slim_orders", "large_orders"),
    "clicks": ("clicks",),
    "readings": ("readings",),
    "sales": ("sales", "unpriced"),
}
_WITHOUT_FRESHNESS = ("unpriced",)


def _unsound(table: str, seen: _Standing, said: Mapping[str, Any]) -> Iterator[str]:
    """Numbers go up one by one, freshness never goes back, and who has lost his place commits nothing."""
    if _epoch(seen, said) < seen.epoch:
        yield f"whoever has the right {_epoch(seen, said)} to write comes after one who has {seen.epoch}"
    if "number" not in said or table.endswith(_SIDES) or table in _WITHOUT_FRESHNESS:
        return
    if said["number"] != seen.number + 1:
        yield f"update {said['number']} follows on update {seen.number}"
    if seen.freshness is not None and (said["freshness"] is None or said["freshness"] < seen.freshness):
        yield f"its freshness goes back from {seen.freshness} to {said['freshness']}"


def _after(seen: _Standing, said: Mapping[str, Any]) -> _Standing:
    """How a table stands after an entry, which need not be of an update."""
    number, freshness = said.get("number", seen.number), said.get("freshness", seen.freshness)
    return _Standing(version=seen.version + 1, number=number, freshness=freshness, epoch=_epoch(seen, said))


def _epoch(seen: _Standing, said: Mapping[str, Any]) -> int:
    return int(said["writer"][0]) if "writer" in said else seen.epoch


def _is_large(row: Row) -> bool:
    return row.value is not None and row.value >= 5


def _values(row: Row, columns: Sequence[str]) -> tuple[object, ...]:
    values = {"id": row.id, "ts": row.time, "k": row.key, "v": row.value, "note": row.note}
    return tuple(values[column] for column in columns)


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
