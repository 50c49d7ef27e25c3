"""Files that keep arriving, and the truth about every row in them."""

from __future__ import annotations

import gzip
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_BEGINNING = datetime(2026, 5, 2, tzinfo=UTC)
_ROWS = 8
_LATENESS = 20
# Characters that pad each row of a file, and in how many of 100 files: few, enough for Spark to write the rows by
# itself, and enough for it to read the file by itself.
_PADDING, _PADDING_WEIGHTS = (0, 6_000, 40_000), (93, 6, 1)
FEEDS = ("orders", "clicks", "readings", "ticks", "sales")


class Kind(StrEnum):
    GOOD = "good"
    BAD = "bad"
    """It cannot be read: it belongs to the rejects."""
    TARDY = "tardy"
    """Its time was over when it came: it is late or, if nobody had been told so, in time."""
    UNPRICED = "unpriced"
    """A sale that the flow puts aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: int
    feed: str
    second: int
    key: str
    value: int | None
    note: str = ""
    kind: Kind = Kind.GOOD

    @property
    def time(self) -> datetime:
        return _moment(self.second)

    @property
    def stamp(self) -> str:
        return self.time.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(slots=True)
class Truth:
    """Every row that has been supplied."""

    rows: list[Row] = field(default_factory=list)
    complete_upto: dict[str, datetime] = field(default_factory=dict)
    """By feed: the time up to which no row may come any more that is in time."""

    def of(self, feed: str, *kinds: Kind) -> list[Row]:
        return [row for row in self.rows if row.feed == feed and (not kinds or row.kind in kinds)]


class Supply:
    """A thread that drops one file per round into every feed, complete as soon as it has its name."""

    def __init__(self, landing: Path, *, seed: int, interval: float) -> None:
        self.truth = Truth()
        self._landing = landing
        self._random = random.Random(seed)
        self._interval = interval
        self._round = 0
        self._next_id = 1
        self._ended = threading.Event()
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="supply", daemon=True)
        for feed in FEEDS:
            (landing / feed).mkdir(parents=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no file arrive meanwhile."""
        with self._turn:
            yield

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            with self._turn:
                self.drop_round()

    def drop_round(self) -> None:
        """One file for each feed."""
        for feed in FEEDS:
            (padding,) = self._random.choices(_PADDING, _PADDING_WEIGHTS)
            rows = [self._row(feed, place, padding) for place in range(_ROWS)]
            self._write(feed, rows)
            self.truth.rows += rows
            if feed != "readings":  # Of these the marks tell.
                self.truth.complete_upto[feed] = _moment(self._round - (_LATENESS if feed == "orders" else 0))
        self._round += 1

    def _row(self, feed: str, place: int, padding: int) -> Row:
        self._next_id += 1
        chance = self._random.random()
        second, kind, value = self._round, Kind.GOOD, self._random.randrange(10)
        if feed in {"orders", "clicks", "readings"} and chance < 0.06:
            kind = Kind.BAD
        elif feed in {"orders", "readings"} and chance < 0.10 and self._round > 4 * _LATENESS:
            kind, second = Kind.TARDY, self._round - self._random.randint(2 * _LATENESS, 3 * _LATENESS)
        elif feed == "clicks" and chance < 0.10:
            second = max(0, self._round - self._random.randint(1, 90))
        elif feed == "sales" and chance < 0.10:
            kind = Kind.UNPRICED
        return Row(
            id=self._next_id,
            feed=feed,
            second=second,
            key=f"k{place}",
            value=None if kind is Kind.UNPRICED else value,
            note=f"n{self._random.randbytes(padding // 2).hex()}",
            kind=kind,
        )

    def _write(self, feed: str, rows: list[Row]) -> None:
        name = f"{self._round:08d}"
        match feed:
            case "clicks":
                packed = self._random.random() < 0.3
                content = "".join(self._json_line(row) + "\n" for row in rows).encode()
                self._place(feed, f"{name}.json" + ".gz" * packed, gzip.compress(content) if packed else content)
            case "readings":
                self._place_by(feed, f"{name}.parquet", lambda path: pq.write_table(_parquet(rows), path))
                if self._round % 5 == 0 and self._round > _LATENESS:
                    promised = _moment(self._round - _LATENESS)
                    self.truth.complete_upto[feed] = promised
                    self._place(feed, f"{name}.mark", promised.isoformat().encode())
            case _:
                lines = "".join(self._csv_line(row) + "\n" for row in rows)
                self._place(feed, f"{name}.csv", f"id,ts,k,v,note\n{lines}".encode())

    def _csv_line(self, row: Row) -> str:
        value = "" if row.value is None else str(row.value)
        if row.kind is Kind.BAD:
            # A value of another type, a field too many, a time that is none.
            return self._random.choice(
                [
                    f"{row.id},{row.stamp},{row.key},{value} EUR,{row.note}",
                    f"{row.id},{row.stamp},{row.key},{value},{row.note},more",
                    f"{row.id},some day,{row.key},{value},{row.note}",
                ]
            )
        return f"{row.id},{row.stamp},{row.key},{value},{row.note}"

    def _json_line(self, row: Row) -> str:
        values = {"id": row.id, "ts": row.stamp, "k": row.key, "v": row.value, "note": row.note}
        if row.kind is not Kind.BAD:
            return json.dumps(values)
        return self._random.choice(
            [json.dumps({**values, "v": "many"}), f'{{"id": {row.id}, "ts": ', f"broken {row.id}"]
        )

    def _place(self, feed: str, name: str, content: bytes) -> None:
        self._place_by(feed, name, lambda path: path.write_bytes(content))

    def _place_by(self, feed: str, name: str, write: Callable[[Path], object]) -> None:
        hidden = self._landing / feed / f".{name}"
        write(hidden)
        hidden.rename(hidden.with_name(name))


def _moment(second: int) -> datetime:
    return _BEGINNING + timedelta(seconds=second)


def _parquet(rows: list[Row]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([row.id for row in rows], pa.int64()),
            "ts": pa.array([row.time for row in rows], pa.timestamp("us", "UTC")),
            "k": pa.array([None if row.kind is Kind.BAD else row.key for row in rows], pa.string()),
            "v": pa.array([row.value for row in rows], pa.int32()),
            "note": pa.array([row.note for row in rows], pa.string()),
        }
    )
