"""What a warehouse leaves behind that has done everything right, without any warehouse: for others to spoil."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import duckdb
import polars as pl
from chaos.logs import Logs
from chaos.oracle import Oracle
from chaos.supply import Kind, Row, Supply, Truth
from chaos.world import LATEST_VIEWS, VIEWS
from deltalake import DeltaTable, write_deltalake

# Enough for rows that are late.
_ROUNDS = 120
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.Int64,
    "ts": pl.Datetime("us", "UTC"),
    "k": pl.String,
    "v": pl.Int32,
    "note": pl.String,
}
_COLUMNS = {"slim_orders": ["id", "ts"], "large_orders": ["id", "ts", "v"]}


def supplied(landing: Path) -> Truth:
    """What there is to load."""
    supply = Supply(landing, seed=1, interval=1.0)
    for _ in range(_ROUNDS):
        supply.drop_round()
    return supply.truth


class Flawless:
    """Tables in a folder, and the oracle that has nothing to say against them."""

    def __init__(self, folder: Path, truth: Truth) -> None:
        self.storage, self.out = folder / "tables", folder / "out" / "keys"
        self.truth = truth
        self.oracle = Oracle(self.storage, folder / "out", truth, Logs(self.storage))

    def write(self) -> None:
        self._write_bases()
        self._write_flow()
        self._write_views()

    def commit(
        self, table: str, rows: pl.DataFrame, freshness: datetime, *, number: int | None = None, epoch: int = 2
    ) -> None:
        """Append rows as the next update of a table, or as the one of a number."""
        folder = self.storage / table
        write_deltalake(folder, rows.to_arrow(), mode="append")
        version = DeltaTable(folder).version()
        number = version + 1 if number is None else number
        said = {"number": number, "freshness": micros(freshness), "writer": [epoch, uuid.uuid4().hex]}
        self._say(table, version, said)

    def replace(self, table: str, rows: pl.DataFrame) -> None:
        """Make rows the content of a table, as something would that is no update."""
        write_deltalake(self.storage / table, rows.to_arrow(), mode="overwrite")

    def read(self, table: str) -> pl.DataFrame:
        return pl.read_delta(str(self.storage / table))

    def entry(self, table: str, version: int) -> Path:
        return self.storage / table / "_delta_log" / f"{version:020d}.json"

    def _say(self, table: str, version: int, said: Mapping[str, object]) -> None:
        entry = self.entry(table, version)
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        for action in actions:
            if "commitInfo" in action:
                action["commitInfo"]["freshtide"] = said
        entry.write_text("".join(json.dumps(action) + "\n" for action in actions))

    def _write_bases(self) -> None:
        bases = {"orders": "orders", "slim_orders": "orders", "large_orders": "orders"}
        for table, feed in {**bases, "clicks": "clicks", "readings": "readings"}.items():
            rows = [row for row in self.truth.of(feed, Kind.GOOD, Kind.TARDY) if _qualifies(table, row)]
            tardy = [row for row in rows if row.kind is Kind.TARDY]
            late = tardy[: len(tardy) // 2]  # The others came before anybody had been told that all was there.
            halves = ([row for row in rows if row.id % 2], [row for row in rows if not row.id % 2])
            for half in halves:
                taken = [row for row in half if row not in late]
                self.commit(table, _frame(taken, _COLUMNS.get(table)), self.truth.complete_upto[feed])
            if late:
                self.commit(f"{table}__late", _frame(late, _COLUMNS.get(table)), self.truth.complete_upto[feed])
            bad = [f"{row.id},{row.stamp}" for row in self.truth.of(feed, Kind.BAD)]
            rejects = pl.DataFrame({"content": bad})
            self.commit(f"{table}__rejects", rejects, self.truth.complete_upto[feed])
        newest = {row.key: row for row in self.truth.of("ticks")}
        self.commit("quotes", _frame(newest.values()), self.truth.complete_upto["ticks"])

    def _write_flow(self) -> None:
        sold = _frame(self.truth.of("sales", Kind.GOOD))
        self.commit("sales", sold.with_columns(tax=pl.col("v") * 10), self.truth.complete_upto["sales"])
        self.commit("unpriced", _frame(self.truth.of("sales", Kind.UNPRICED)), self.truth.complete_upto["sales"])
        self.out.mkdir(parents=True)
        for place, part in enumerate((sold[::2], sold[1::2])):
            part.group_by("k").agg(n=pl.len()).write_parquet(self.out / f"{place}.parquet")

    def _write_views(self) -> None:
        for name, view in {**VIEWS, **LATEST_VIEWS}.items():
            freshness = min(self.truth.complete_upto[feed] for feed in view.feeds)
            with duckdb.connect() as base:
                base.execute("SET TimeZone='UTC'")
                for source in view.sources:
                    rows = self.read(source)
                    base.register(source, rows.filter(pl.col("ts") <= freshness).to_arrow())
                made = pl.DataFrame(base.sql(view.query).to_arrow_table())
            self.commit(name, made.with_columns(pl.col(pl.Decimal, pl.Int128).cast(pl.Int64)), freshness)


def micros(moment: datetime) -> int:
    return round(moment.timestamp()) * 1_000_000


def _qualifies(table: str, row: Row) -> bool:
    return table != "large_orders" or (row.value is not None and row.value >= 5)


def _frame(rows: Iterable[Row], columns: Sequence[str] | None = None) -> pl.DataFrame:
    values = [(row.id, row.time, row.key, row.value, row.note) for row in rows]
    return pl.DataFrame(values, schema=_SCHEMA, orient="row").select(columns or list(_SCHEMA))
