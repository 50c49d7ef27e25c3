"""What must hold, looked at from outside: polars and DuckDB over the Delta tables, JSON over their logs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl

from chaos.logs import Logs
from chaos.supply import Kind, Row, Truth
from chaos.world import LATEST_VIEWS, VIEWS, View

_FIRST_NUMBER = re.compile(r"\d+")
_SIDES = ("__rejects", "__late")
_ALL = ("id", "ts", "k", "v", "note")


class Oracle:
    """Looks at the tables; what is wrong comes back as sentences."""

    def __init__(self, storage: Path, out: Path, truth: Truth, logs: Logs) -> None:
        self._storage = storage
        self._out = out
        self._truth = truth
        self._logs = logs
        self._seen: dict[str, tuple[int, int, int | None]] = {}
        """By table: the last version looked at, the number of its update and its freshness."""

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
        for table in self._logs.tables():
            if not table.endswith(_SIDES) and table not in _WITHOUT_FRESHNESS:
                wrong += self._history(table)
        return wrong

    def _history(self, table: str) -> list[str]:
        version, number, freshness = self._seen.get(table, (-1, 0, None))
        wrong = []
        while version < self._logs.newest(table):
            said = self._logs.said(table, version + 1)
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
        if self._logs.is_beyond(table, self._logs.newest(table)):
            wrong.append(f"{table}: its log goes on after version {version}, and the next one is missing")
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
