"""Rows of a feed as tuples of an update stream, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from freshtide.core.arrivals import Arrival
from freshtide.core.instants import datetime_of, micros
from freshtide.core.latest import WINDOW_COLUMNS
from freshtide.latest import ColumnKind, StreamTuple
from freshtide.spark.latest.waiting import MicroBatch
from freshtide.storage import GONE_AT


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """A row that is kept aside."""

    file: str
    content: str
    reason: str


LEFT_BEHIND = 0
"""Stands for what an earlier run has left behind, as the numbers of files stand for theirs, which begin with 1."""

AHEAD = -2
"""Stands for files that were not done with when rows of theirs were put down: these are counted with their files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows that came together, in their order: their keys, their times, and all other values by column."""

    file: Arrival | None
    """None: an earlier run has left them behind."""
    arrived_at: float
    keys: Sequence[Any]
    times: Sequence[float]
    columns: Sequence[Sequence[Any]]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def tag(self) -> int:
        """What they are known by while they wait."""
        return LEFT_BEHIND if self.file is None else self.file.id

    @classmethod
    def of(cls, tuples: Sequence[StreamTuple], *, width: int, arrived_at: float) -> Rows:
        """Tuples with so many values each that an earlier run has left behind."""
        columns = [[item.values[place] for item in tuples] for place in range(width)]
        keys, times = [item.key for item in tuples], [item.time for item in tuples]
        return cls(file=None, arrived_at=arrived_at, keys=keys, times=times, columns=columns)

    @property
    def source(self) -> str:
        """Where they came from, in words."""
        return "an earlier run" if self.file is None else self.file.position

    def tuples(self) -> list[StreamTuple]:
        """The rows one by one."""
        values = zip(*self.columns, strict=True)
        return [StreamTuple(time, key, row) for time, key, row in zip(self.times, self.keys, values, strict=True)]

    def only(self, places: Sequence[int]) -> Rows:
        return Rows(
            file=self.file,
            arrived_at=self.arrived_at,
            keys=[self.keys[place] for place in places],
            times=[self.times[place] for place in places],
            columns=[[column[place] for place in places] for column in self.columns],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShape:
    """Which columns of a feed's rows are the key; the others are the values of a tuple.

    Columns that the feed gains while rows wait are one more value: a queue has as many columns as it began with.
    """

    columns: tuple[str, ...]
    """Those that the feed declares."""
    key: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self.key)

    @property
    def kinds(self) -> tuple[ColumnKind, ...]:
        """Of the values of a tuple: any of them may be missing."""
        any_kind: ColumnKind = "object"
        return (any_kind,) * (len(self.values) + 1)

    def keys(self, rows: pa.Table) -> list[Any]:
        """The key of each row: a value, or one for each of several columns."""
        parts: list[list[Any]] = [rows.column(name).to_pylist() for name in self.key]
        return parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))

    def key_of(self, row: Sequence[Any]) -> Any:
        """The key of a single row with all columns that the feed declares."""
        parts = tuple(row[self.columns.index(name)] for name in self.key)
        return parts[0] if len(parts) == 1 else parts

    def values_of(self, row: Sequence[Any]) -> tuple[Any, ...]:
        return (*(row[place] for place, name in enumerate(self.columns) if name not in self.key), ())

    def value_columns(self, rows: pa.Table) -> list[list[Any]]:
        declared = [rows.column(name).to_pylist() for name in self.values]
        gained = [name for name in rows.column_names if name not in self.columns]
        if not gained:
            return [*declared, [()] * rows.num_rows]
        return [*declared, list(zip(*(rows.column(name).to_pylist() for name in gained), strict=True))]

    def table(self, batch: MicroBatch, schema: pa.Schema) -> pa.Table:
        """Tuples as rows again, with the columns of the feed as they are now and those of their windows."""
        tuples = batch.tuples
        by_name: dict[str, Any] = {}
        keys = self.key_columns([item.key for item in tuples], schema)
        for place, name in enumerate(self.values):
            by_name[name] = [item.values[place] for item in tuples]
        by_name |= {
            start_or_end: [datetime_of(window[place]) for window in batch.windows]
            for place, start_or_end in enumerate(WINDOW_COLUMNS)
        }
        gained = [name for name in schema.names if name not in by_name and name not in self.key]
        for place, name in enumerate(gained):
            by_name[name] = [_nth(item.values[-1], place) for item in tuples]
        columns = [
            keys.column(name) if name in self.key else pa.array(by_name[name], schema.field(name).type)
            for name in schema.names
        ]
        return pa.table(columns, schema=schema)

    def key_columns(self, keys: Sequence[Any], schema: pa.Schema) -> pa.Table:
        """Keys as columns again, of the types that a schema has for them."""
        parts = [keys] if len(self.key) == 1 else [[key[place] for key in keys] for place in range(len(self.key))]
        fields = [schema.field(name) for name in self.key]
        columns = [pa.array(part, field.type) for part, field in zip(parts, fields, strict=True)]
        return pa.table(columns, schema=pa.schema(fields))

    def keys_and_times(self, batch: MicroBatch, schema: pa.Schema) -> pa.Table:
        """The keys of tuples, and when they were newest, as they are put down for keys that go."""
        of_keys = self.key_columns([item.key for item in batch.tuples], schema)
        times = pa.array([micros(item.time) for item in batch.tuples], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
        return of_keys.append_column(GONE_AT, times)

    def rows(self, feed_rows: pa.Table, time_column: str, *, file: Arrival | None, arrived_at: float) -> Rows:
        """Rows of the feed as they wait."""
        times = feed_rows.column(time_column).cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        return Rows(
            file=file,
            arrived_at=arrived_at,
            keys=self.keys(feed_rows),
            # Beyond 2^53 microseconds, before 1684 and after 2255, not each has a float of its own.
            times=pc.divide(times.cast(pa.float64(), safe=False), 1e6).to_pylist(),
            columns=self.value_columns(feed_rows),
        )

    def written(self, key: Any, values: Sequence[Any]) -> str:
        """A row in words."""
        parts = [key] if len(self.key) == 1 else key
        named = {**dict(zip(self.key, parts, strict=True)), **dict(zip(self.values, values, strict=False))}
        return json.dumps({name: named[name] for name in self.columns}, default=str)


def _nth(values: Any, place: int) -> Any:
    return values[place] if place < len(values) else None
