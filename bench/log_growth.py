"""What a commit costs after many others: neither a long log nor a long life makes it slower."""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from bench.results import Report
from freshtide.storage import Change, Store, StoredTable, UpdateKind, UpdateRecord
from freshtide.storage.deltalog import commit_path
from freshtide.storage.housekeeping import LEAST_PRUNED, prune_log

_RETENTION = 86_400.0
_FEW = 10
_ROWS = pa.table({"value": pa.array([1], pa.int64())})


def run(folder: Path, *, quick: bool) -> Report:
    lengths, rounds = ((2_000,), 20) if quick else ((10_000, 100_000), 100)
    store = Store(folder / "tables")
    pairs: dict[str, _Pair] = {}
    for length in lengths:
        pairs[f"{length:,} in the log"] = _pair(store, _with_entries(store, f"long_{length}", length))
        pruned = _pruned(_with_entries(store, f"old_{length}", length))
        pairs[f"{length:,}, older than the retention"] = _pair(store, pruned)
    left = {name: len(list((pair.old.folder / "_delta_log").glob("*.json"))) for name, pair in pairs.items()}
    tables = [table for pair in pairs.values() for table in (pair.old, pair.young)]
    seconds: dict[str, list[float]] = {table.name: [] for table in tables}
    for _ in range(rounds):
        # In turns, so that whatever else the machine does concerns all alike.
        for table in tables:
            seconds[table.name].append(_commit(table))
    rows = []
    for name, pair in pairs.items():
        old, young = (1_000 * statistics.median(seconds[table.name]) for table in (pair.old, pair.young))
        rows.append((name, left[name], old, young, old / young))
    report = Report(name="log-growth")
    report.table(
        f"Commits of one small file, ms, median of {rounds} (goal: at most 1.5 times that after {_FEW} entries)",
        ("entries", "left in the log", "commit", f"after {_FEW}", "times"),
        rows,
    )
    report.figures["ratio"] = max(row[-1] for row in rows)
    return report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A table with a long past, and one with a short one that was made right after it.

    A sync takes longer on some parts of a disk than on others.
    """

    old: StoredTable
    young: StoredTable


def _pair(store: Store, old: StoredTable) -> _Pair:
    return _Pair(old=old, young=_with_entries(store, f"beside_{old.name}", _FEW))


def _with_entries(store: Store, name: str, length: int) -> StoredTable:
    """A table with a log of so many entries, most of which say and change nothing new."""
    table = store.table(name)
    _commit(table)
    first, *_, last = commit_path(table.folder, 0).read_text(encoding="utf-8").splitlines(keepends=True)
    for version in range(1, length):
        commit_path(table.folder, version).write_text(first + last, encoding="utf-8")
    table.recover()
    table.checkpoint()
    return table


def _pruned(table: StoredTable) -> StoredTable:
    """A year later, as housekeeping leaves it."""
    long_ago = time.time() - 365 * 86_400.0
    for path in (table.folder / "_delta_log").iterdir():
        os.utime(path, (long_ago, long_ago))
    while prune_log(table.disk, table.logs, table.folder, retention=_RETENTION, at=time.time()) > LEAST_PRUNED:
        pass
    return table


def _commit(table: StoredTable) -> float:
    """The seconds that it takes to commit a file that lies ready."""
    current = table.snapshot
    number = (current.number if current else 0) + 1
    files = tuple(table.write(_ROWS, number=number))
    record = UpdateRecord(number=number, kind=UpdateKind.LOAD, freshness=number, safe=number, definition="bench")
    gone = current.files if current else ()
    change = Change(record=record, at=time.time(), schema=_ROWS.schema, add=files, remove=gone)
    begun = time.perf_counter()
    table.commit(change)
    return time.perf_counter() - begun
