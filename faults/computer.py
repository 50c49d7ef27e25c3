"""A computer that stands in for Spark: it reads files, computes queries and writes Parquet, slowly, and not always.

What it writes lies beside the logs of real tables until the real protocol commits it. It is asked for the steps that
the real runtime asks Spark for, and answers as late, or fails, as its temper says.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faults.tables import BASES, VIEWS, Row, project
from freshtide.core.arrivals import Arrival
from freshtide.core.cuts import Cuts
from freshtide.core.definitions import fingerprints
from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Column
from freshtide.core.instants import micros
from freshtide.core.maintenance import MODES
from freshtide.core.steps import ComputedStep, Load, Refresh
from freshtide.core.tables import Maintenance, Table
from freshtide.latest import LatestQueue
from freshtide.spark import LatestStreams, Listeners, SharedScans
from freshtide.spark.latest.tables import LatestTables
from freshtide.storage import (
    BEGINNING,
    Change,
    Counts,
    DataFile,
    LoadedArrival,
    Prepared,
    Snapshot,
    Store,
    UpdateKind,
    UpdateRecord,
    next_number,
)
from freshtide.world import Clock, Disk, Threads

_TIME = pa.timestamp("us", tz="UTC")
_ROWS = pa.schema([("id", pa.int64()), ("ts", _TIME), ("k", pa.string()), ("v", pa.int32())])
_SCHEMAS: dict[str, pa.Schema] = {
    "large": _ROWS,
    "per_minute": pa.schema([("minute", _TIME), ("k", pa.string()), ("total", pa.int64())]),
    "totals": pa.schema([("k", pa.string()), ("total", pa.int64())]),
}
_REJECTS = pa.schema([("raw", pa.string()), ("reason", pa.string()), ("file", pa.string())])


class ComputingFailedError(FreshtideError):
    """The computer has had enough of an update."""


@dataclass(slots=True, kw_only=True)
class Temper:
    """How long steps take, and how often they fail."""

    rng: Random
    slowness: float = 0.5
    """Seconds that a part of a step takes on average."""
    failures: float = 0.0
    """The share of the parts of steps that fail."""
    is_mild: bool = False
    """Whether all is well from now on."""


class SimulatedComputer:
    """Computes the steps of one process."""

    def __init__(
        self, store: Store, *, disk: Disk, clock: Clock, threads: Threads, temper: Temper, watch: Callable[..., Any]
    ) -> None:
        self._store = store
        self._disk = disk
        self._clock = clock
        self._threads = threads
        self._temper = temper
        self._watch = watch
        self._graph = project().graph
        self._definitions = fingerprints(self._graph)
        self.streams = _no_streams(store, clock, watch)

    @contextmanager
    def prepared(self, step: ComputedStep, *, pool: str, scans: SharedScans | None = None) -> Iterator[Prepared | None]:
        del pool, scans
        match step:
            case Load():
                yield self._load(step)
            case Refresh():
                yield self._refresh(step)
            case _:
                raise AssertionError(f"nobody asks for {step}")

    @contextmanager
    def together(self, names: Sequence[str], *, pool: str, rebuild: bool = False) -> Iterator[SharedScans]:
        del names, pool, rebuild
        yield SharedScans({})

    def is_there(self, name: str, upto: float, *, pool: str) -> bool:
        del pool
        snapshot = self._store.table(name).snapshot
        return snapshot is not None and snapshot.freshness is not None and snapshot.freshness >= micros(upto)

    def finish(self, name: str) -> bool:
        del name
        return False

    def awaits(self, name: str) -> str | None:
        del name
        return None

    def discovered_columns(
        self, feed: str, files: Sequence[Arrival], *, known: tuple[Column, ...], pool: str
    ) -> tuple[Column, ...]:
        del feed, files, known, pool
        return ()

    def _work(self) -> None:
        """A part of a step takes its time, and may fail."""
        temper = self._temper
        self._threads.sleep(temper.rng.expovariate(1.0 / temper.slowness))
        if not temper.is_mild and temper.rng.random() < temper.failures:
            raise ComputingFailedError("The computer has had enough.")

    def _load(self, step: Load) -> Prepared:
        table, plan = step.table, step.plan
        main = self._store.table(table.name, time_column=table.time_column)
        rejects, late = self._store.table(f"{table.name}__rejects"), self._store.table(f"{table.name}__late")
        number = next_number(main, (rejects, late), at=self._clock.now())
        unchanged = self._watch([item.arrival for item in plan.items])
        self._work()
        keeps = BASES[table.name][1]
        good: list[Row] = []
        beside_late: list[Row] = []
        bad: list[tuple[str, str, str]] = []
        for item in plan.items:
            for raw, row in parsed(self._disk.read(item.arrival.position)):
                if row is None:
                    bad.append((raw, "it is no row", item.arrival.position))
                elif item.late_upto is not None and row.ts <= item.late_upto:
                    beside_late.append(row)
                else:
                    good.append(row)
        self._work()
        kept = [row for row in good if keeps(row)]
        kept_late = [row for row in beside_late if keeps(row)]
        rebuild = step.rebuild
        files = tuple(main.write(_table(kept, _ROWS), number=number)) if kept else ()
        reads = len(good) + len(beside_late) + len(bad)
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if rebuild else UpdateKind.LOAD,
            freshness=plan.freshness,
            safe=plan.safe,
            definition=self._definitions[table.name],
            arrivals=tuple(LoadedArrival.of(file) for file in plan.arrivals),
            counts=Counts(read=reads, loaded=len(kept), rejected=len(bad), late=len(kept_late)),
            revised_from=BEGINNING if rebuild else _reaching_back(files, main.snapshot),
        )
        aside = UpdateRecord(
            number=number, kind=record.kind, freshness=record.freshness, safe=record.safe, definition=record.definition
        )
        beside = []
        for side, rows in ((rejects, _table(bad, _REJECTS)), (late, _table(kept_late, _ROWS))):
            if rows.num_rows or (rebuild and side.snapshot is not None):
                added = tuple(side.write(rows, number=number)) if rows.num_rows else ()
                beside.append((side, self._change(aside, rows.schema, added, replace_all=rebuild)))
        self._work()
        unchanged()
        own = (main, self._change(record, _ROWS, files, replace_all=rebuild))
        return Prepared(own=own, beside=tuple(beside), files=plan.arrivals)

    def _refresh(self, step: Refresh) -> Prepared:
        table, cut = step.table, micros(step.upto)
        stored = self._store.table(table.name, time_column=table.time_column)
        number, current = next_number(stored, at=self._clock.now()), stored.snapshot
        source_name, query = VIEWS[table.name]
        source = self._store.table(source_name, time_column="ts").snapshot
        assert source is not None, "a view is refreshed once its source has data"
        self._work()
        rows = [row for row in rows_of(self._disk, source) if row.ts <= cut]
        self._work()
        revised_from, since = self._since(table, current, step.rebuild, source_name)
        whole = query(rows)
        remove: tuple[DataFile, ...] = ()
        if since is None:
            new = whole
        else:
            assert current is not None, "only what is there can be added to"
            remove = current.between(since, None) if table.maintain is Maintenance.PARTITIONS else ()
            # Files that reach further back are replaced whole.
            begins = min([since, *(file.low or 0 for file in remove)])
            place = _SCHEMAS[table.name].get_field_index(table.time_column or "")
            new = [values for values in whole if values[place] >= begins]
        schema = _SCHEMAS[table.name]
        files = tuple(stored.write(_table(new, schema), number=number)) if new else ()
        self._work()
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if step.rebuild else UpdateKind.REFRESH,
            freshness=cut,
            safe=cut,
            definition=self._definitions[table.name],
            sources={source_name: source.number},
            revised_from=revised_from,
        )
        change = self._change(record, schema, files, remove=remove, replace_all=since is None)
        return Prepared(own=(stored, change))

    def _since(
        self, table: Table, current: Snapshot | None, rebuild: bool, source: str
    ) -> tuple[int | None, int | None]:
        """From where on the view's content is revised, and from where on it is written; None: all of it."""
        if current is None or current.freshness is None or current.record is None:
            return None, None
        seen = current.record.sources.get(source, 0)
        revised = self._store.table(source).revised_since(seen)
        if rebuild or MODES[table.maintain].is_written_whole or (revised is not None and revised <= current.freshness):
            return BEGINNING, None
        if table.maintain is Maintenance.PARTITIONS:
            return None, Cuts(self._graph).closed_before(table.name, current.freshness)
        return None, current.freshness + 1

    def _change(
        self,
        record: UpdateRecord,
        schema: pa.Schema,
        add: tuple[DataFile, ...],
        *,
        remove: tuple[DataFile, ...] = (),
        replace_all: bool = False,
    ) -> Change:
        return Change(
            record=record, at=self._clock.now(), schema=schema, add=add, remove=remove, replace_all=replace_all
        )


def parsed(content: bytes) -> Iterator[tuple[str, Row | None]]:
    """The lines of a file, each with the row that it is; None: it is none."""
    lines = content.decode().splitlines()[1:]
    for raw, fields in zip(lines, csv.reader(io.StringIO("\n".join(lines))), strict=True):
        try:
            number, time, key, value = fields
            yield raw, Row(int(number), micros(datetime.fromisoformat(time).timestamp()), key, int(value))
        except ValueError:
            yield raw, None


def rows_of(disk: Disk, snapshot: Snapshot) -> list[Row]:
    return [Row(*values) for values in values_of(disk, snapshot)]


def values_of(disk: Disk, snapshot: Snapshot) -> list[tuple[Any, ...]]:
    """All that a version of a table holds, times as microseconds."""
    return [values for path in snapshot.paths(snapshot.files) for values in _decoded(disk.read(path))]


@lru_cache(maxsize=4_096)
def _decoded(content: bytes) -> list[tuple[Any, ...]]:
    """The rows of a Parquet file: each is read again and again."""
    table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
    columns = [
        column.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(column.type) else column.to_pylist()
        for column in table.columns
    ]
    return list(zip(*columns, strict=True))


def _table(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [
        pa.array(list(values), pa.int64()).cast(field.type)
        if pa.types.is_timestamp(field.type)
        else pa.array(list(values), field.type)
        for values, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _reaching_back(files: Sequence[DataFile], before: Snapshot | None) -> int | None:
    safe = before.record.safe if before is not None and before.record is not None else None
    if safe is None:
        return None
    return min((file.low for file in files if file.low is not None and file.low <= safe), default=None)


def instant(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1_000_000, UTC).isoformat()


def _no_streams(store: Store, clock: Clock, watch: Callable[..., Any]) -> LatestStreams:
    """There are no latest tables here."""
    return LatestStreams(
        {},
        {},
        store=store,
        latest=LatestTables(project().graph, store),
        definitions={},
        memory=1_000_000,
        clock=clock.now,
        listeners=Listeners(),
        make_queue=LatestQueue,
        spool=project().root,
        watch=watch,
    )
