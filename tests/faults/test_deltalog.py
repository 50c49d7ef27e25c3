"""The Delta log in Python is held equal to delta-rs: each opens what the other has written, and finds the same."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from faults.deltalog import PlainDeltaLogs, PlainOpenLog
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.storage import Change, DeltaLogs, StoredTable, UnreadableLogError, compact
from freshtide.storage.deltars import DeltaRs
from freshtide.storage.housekeeping import prune_log
from freshtide.world import OsDisk
from tests.examples import examples
from tests.storage.tablebench import START, TIME, update

_DAY = 86_400.0
_PLAIN = PlainDeltaLogs(OsDisk(), time.time)
_READERS: dict[str, DeltaLogs] = {"delta-rs": DeltaRs(), "plain": _PLAIN}

Step = tuple[Any, ...]
_Values = st.lists(st.integers(0, 5), max_size=4)
_Steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), _Values),
        st.tuples(st.just("append"), _Values),
        st.tuples(st.just("replace"), _Values, st.booleans(), st.sampled_from([(), ("kind",), ("day", "kind")])),
        st.tuples(st.just("remove"), st.integers(0, 5)),
        st.tuples(st.just("widen"), st.sampled_from(["ratio", "price", "seen", "local"])),
        st.tuples(st.just("compact")),
        st.tuples(st.just("fence")),
        st.tuples(st.just("roll back")),
        st.tuples(st.just("checkpoint"), st.sampled_from(sorted(_READERS))),
        st.tuples(st.just("prune"), st.sampled_from(sorted(_READERS))),
    ),
    max_size=14,
)
_KINDS = (None, "a b", "ü/%=", "c")
_MORE: dict[str, Callable[[int], Any]] = {
    "ratio": lambda value: value / 3 if value else float("nan"),
    "price": lambda value: Decimal(value) / 4,
    "seen": lambda value: START + timedelta(microseconds=value * 333),
    "local": lambda value: datetime(2026, 1, 1 + value),
}
_TYPES = {"ratio": pa.float64(), "price": pa.decimal128(10, 2), "seen": TIME, "local": pa.timestamp("us")}


@settings(max_examples=examples(40), deadline=None)
@given(steps=_Steps)
def test_the_same_log_is_the_same_table_to_both(steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        bench = _Bench(Path(folder) / "t")
        bench.append([1])
        for step in steps:
            bench.do(*step)
            _require_equal(bench.table.folder)
        for version in range(bench.version + 1):
            _require_equal(bench.table.folder, version)


def test_what_is_removed_is_told_alike(tmp_path: Path) -> None:
    bench = _Bench(tmp_path / "t")
    bench.by = ("kind",)
    for _ in range(3):
        bench.append([1, 2, 3])
    bench.do("remove", 1)
    bench.do("remove", 2)
    bench.do("checkpoint", "plain")
    there = [logs.open(bench.table.folder) for logs in _READERS.values()]
    for hours in (0, 1, 1_000_000):
        first, second = (sorted(opened.removed(hours=hours)) for opened in there)
        assert first == second
        assert len(first) == (2 if hours < 1_000_000 else 0)


def _entry(version: int) -> str:
    return f"{version:020d}.json"


def _checkpoint(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


_HINT = "_last_checkpoint"
_AWAY = -1
_DAMAGES: list[dict[str, bytes | int]] = [
    {_HINT: b'{"vers'},
    {_HINT: b""},
    {_HINT: _AWAY},
    {_HINT: b'{"version":1,"size":4}'},
    {_HINT: b'{"version":4,"size":4}'},
    {_HINT: b'{"version":9,"size":4}'},
    {_HINT: b'{"version":1,"size":4}', _checkpoint(3): 0},
    {_HINT: _AWAY, _checkpoint(3): 0},
    {_HINT: _AWAY, _checkpoint(3): 100},
    {_checkpoint(3): 0},
    {_checkpoint(3): 100},
    {_checkpoint(3): _AWAY},
    {_checkpoint(3): _AWAY, _checkpoint(1): _AWAY},
    {_entry(5): 50},
    {_entry(5): b'{"commitInfo":{}}\n'},
    {_entry(5): 0},
    {_entry(5): bytes(100)},
    {_entry(4): 0},
    {_entry(4): _AWAY},
    {_entry(2): _AWAY},
    {_entry(5): _AWAY, _entry(4): _AWAY},
    {_entry(5): _AWAY, _entry(4): _AWAY, _entry(3): _AWAY},
    {_entry(version): _AWAY for version in range(6)},
    {_HINT: _AWAY, _checkpoint(1): _AWAY, _checkpoint(3): _AWAY, _entry(0): _AWAY},
    {_HINT: _AWAY, _checkpoint(1): _AWAY, _checkpoint(3): _AWAY, _entry(0): 0},
]


@pytest.mark.parametrize("damage", _DAMAGES)
def test_a_damaged_log_is_read_or_refused_alike(tmp_path: Path, damage: dict[str, bytes | int]) -> None:
    """Other content, the first bytes of what it was, or nothing at all."""
    bench = _Bench(tmp_path / "t")
    for value in range(6):
        bench.append([value])
        if value in (1, 3):
            bench.table.checkpoint()
    for name, left in damage.items():
        path = bench.table.folder / "_delta_log" / name
        if left == _AWAY:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:left] if isinstance(left, int) else left)
    for version in (None, *range(6)):
        found = [_opened(logs, bench.table.folder, version) for logs in _READERS.values()]
        assert found[0] == found[1], version


def _require_equal(folder: Path, version: int | None = None) -> None:
    found = [_opened(logs, folder, version) for logs in _READERS.values()]
    assert found[0] == found[1]
    assert version is not None or found[0] is not None
    if found[0] is not None:
        plain = _PLAIN.open(folder, version)
        assert isinstance(plain, PlainOpenLog)
        handle = DeltaTable(folder, version=version)
        assert plain.transaction_version("freshtide") == handle.transaction_version("freshtide")


def _opened(logs: DeltaLogs, folder: Path, version: int | None) -> dict[str, Any] | None:
    """All that a log tells, such that it can be compared; None: it cannot be read, or not that far back."""
    try:
        opened = logs.open(folder, version)
    except UnreadableLogError:
        return None
    files = sorted(opened.files("time"), key=lambda file: file.path)
    return {
        "version": opened.version,
        "schema": opened.schema(),
        "declaration": opened.declaration(),
        "files": files,
        "count": opened.file_count(),
    }


class _Bench:
    """A table that steps are done to, by the code that writes tables."""

    def __init__(self, folder: Path) -> None:
        self.table = StoredTable(folder, time_column="time")
        self.table.open()
        self.by: tuple[str, ...] = ()
        self.more: tuple[str, ...] = ()
        self.at = time.time() - 2 * _DAY

    @property
    def version(self) -> int:
        assert self.table.snapshot is not None
        return self.table.snapshot.version

    def do(self, kind: str, *how: Any) -> None:
        self.at += 60.0
        match kind:
            case "append":
                self.append(*how)
            case "replace":
                self._replace(*how)
            case "remove":
                self._remove(*how)
            case "widen":
                self.more = tuple(dict.fromkeys((*self.more, *how)))
                self.append([1, 2])
            case "compact":
                for _ in range(16):
                    self.append([3])
                compact(self.table, at=self.at)
            case "fence":
                self.table.fence(self.version + 1, at=self.at)
                self.table.open()
                self.table._epoch = 0  # What comes next is of an older right to write, and lands for once.
            case "roll back":
                assert self.table.snapshot is not None
                self.append([4])
                self.table.roll_back(self.table.snapshot.number - 1, at=self.at)
            case "checkpoint":
                self._by(*how).checkpoint()
            case "prune":
                self._prune(self._by(*how))

    def append(self, values: list[int], **change: Any) -> None:
        rows = self._rows(values)
        number = 1 if self.table.snapshot is None else self.table.snapshot.number + 1
        files = tuple(self.table.write(rows, number=number, partition_by=self.by))
        self.table.commit(
            Change(record=update(number), at=self.at, schema=rows.schema, partition_by=self.by, add=files, **change)
        )

    def _replace(self, values: list[int], narrow: bool, by: tuple[str, ...]) -> None:
        self.by, self.more = by, () if narrow else self.more
        self.append(values, replace_all=True)

    def _remove(self, which: int) -> None:
        assert self.table.snapshot is not None
        files = self.table.snapshot.files
        self.append([5], remove=files[which : which + 1])

    def _by(self, reader: str) -> StoredTable:
        """The table, its checkpoints written by one of the two."""
        self.table.logs = _READERS[reader]
        return self.table

    def _prune(self, table: StoredTable) -> None:
        """Drop the entries behind a checkpoint, as if both were old."""
        table.checkpoint()
        old = time.time() - _DAY
        for path in (table.folder / "_delta_log").iterdir():
            os.utime(path, (old, old))
        prune_log(table.disk, table.logs, table.folder, retention=3_600.0, at=time.time(), least=1)

    def _rows(self, values: list[int]) -> pa.Table:
        columns: dict[str, pa.Array] = {
            "time": pa.array([START + timedelta(seconds=value) for value in values], TIME),
            "value": pa.array(values, pa.int64()),
            "kind": pa.array([_KINDS[value % len(_KINDS)] for value in values], pa.string()),
            "day": pa.array([date(2026, 5, 1 + value) for value in values], pa.date32()),
        }
        for name in self.more:
            columns[name] = pa.array([_MORE[name](value) for value in values], _TYPES[name])
        return pa.table(columns)
