"""What a commit costs after many others: neither a long log nor a long life makes it slower."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pyarrow as pa

from bench.results import Report
from freshtide.storage import Change, Store, StoredTable, UpdateKind, UpdateRecord
from freshtide.storage.deltalog import commit_path
from freshtide.storage.housekeeping import LEAST_PRUNED, prune_log

_RETENTION = 86_400.0
_ROWS = pa.table({"value": pa.array([1], pa.int64())})
# An entry without data, as a compaction of nothing would leave it: what counts is that it is there.
_ENTRY = (
    '{"commitInfo":{"operation":"OPTIMIZE","freshtide":{"kind":"compaction"}}}\n'
    '{"txn":{"appId":"freshtide","version":1}}\n'
)


def run(folder: Path, *, quick: bool) -> Report:
    lengths, rounds = ((10, 2_000), 20) if quick else ((10, 10_000, 100_000), 100)
    store = Store(folder / "tables")
    report = Report(name="log-growth")
    tables: dict[str, StoredTable] = {}
    for length in lengths:
        tables[f"{length:,} in the log"] = _with_entries(store, f"long_{length}", length)
    for length in lengths[1:]:
        tables[f"{length:,}, older than the retention"] = _pruned(_with_entries(store, f"old_{length}", length))
    entries = {name: len(list((table.folder / "_delta_log").glob("*.json"))) for name, table in tables.items()}
    seconds: dict[str, list[float]] = {name: [] for name in tables}
    # In turns, so that whatever else the machine does concerns all alike.
    for _ in range(rounds):
        for name, table in tables.items():
            seconds[name].append(_commit(table))
    first, *others = (statistics.median(taken) for taken in seconds.values())
    report.table(
        f"Commits of one small file, median of {rounds} (goal: at most 1.5 times the first)",
        ("entries", "left in the log", "ms", "times the first"),
        [
            (name, entries[name], 1_000 * median, median / first)
            for name, median in zip(seconds, (first, *others), strict=True)
        ],
    )
    report.figures.update(ratio=max(others) / first, first_ms=1_000 * first)
    return report


def _with_entries(store: Store, name: str, length: int) -> StoredTable:
    table = store.table(name)
    _commit(table)
    for version in range(1, length):
        commit_path(table.folder, version).write_text(_ENTRY, encoding="utf-8")
    table.recover()
    table.checkpoint()
    return table


def _pruned(table: StoredTable) -> StoredTable:
    """A year later, as housekeeping leaves it."""
    long_ago = time.time() - 365 * 86_400.0
    for path in (table.folder / "_delta_log").iterdir():
        os.utime(path, (long_ago, long_ago))
    while prune_log(table.folder, retention=_RETENTION, at=time.time()) > LEAST_PRUNED:
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
