"""What keeps the millionth update as quick as the first: checkpoints, a short log, no files that nobody needs.

Nothing here changes what a table holds. An entry of the log is removed only behind a checkpoint that was read again and
is on disk, after what it said has been added to the ledger. A file is removed only when no version refers to it that is
younger than the retention.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from freshtide.crashpoints import reach
from freshtide.storage import ledger
from freshtide.storage.deltalog import checkpoint_hint, checkpoint_path, commit_path, listing
from freshtide.storage.errors import StorageError
from freshtide.storage.history import History
from freshtide.storage.logs import DeltaLogs
from freshtide.storage.parquet import staging_root
from freshtide.storage.snapshots import Snapshot
from freshtide.world import Disk, files_below, is_folder, names_in, sync_files

LEAST_PRUNED = 1_000
"""Fewer entries than this stay in the log however old they are: each removal adds a part to the ledger."""
_MOST_PRUNED = 10_000
# Old versions can be opened within the retention: from a checkpoint that is at most this part of it older.
_CHECKPOINTS_KEPT = 16
# What an update has written and not committed after so long it never will.
_LONGEST_UPDATE = 86_400.0


def write_checkpoint(logs: DeltaLogs, snapshot: Snapshot) -> None:
    """Write a checkpoint of a version, so that opening the table does not replay the whole log."""
    disk, folder, version = snapshot.disk, snapshot.folder, snapshot.version
    try:
        logs.open(folder, version).write_checkpoint()
        reach("checkpoint")
        _require_checkpoint(disk, logs, folder, version)
        sync_files(disk, [checkpoint_hint(folder)])
    except BaseException:
        # Torn, it would keep everybody from opening the table; the log is whole without it.
        disk.remove(checkpoint_hint(folder), missing_ok=True)
        disk.remove(checkpoint_path(folder, version), missing_ok=True)
        raise


def prune_log(
    disk: Disk, logs: DeltaLogs, folder: Path, *, retention: float, at: float, least: int | None = None
) -> int:
    """Remove entries older than the retention, and checkpoints that are too many; how many entries are left.

    Some at a time, so that nobody waits long for it.
    """
    found = listing(disk, folder)
    base = _oldest_needed(disk, folder, found.checkpoints, at - retention)
    behind = [version for version in found.entries if base is not None and version < base][:_MOST_PRUNED]
    if base is not None and len(behind) >= (LEAST_PRUNED if least is None else least):
        _require_checkpoint(disk, logs, folder, base)
        gone = behind[-1]
        ledger.extend(disk, folder, History(disk, folder, gone).oldest_first(after=-1), upto=gone)
        for version in behind:
            disk.remove(commit_path(folder, version))
    else:
        behind = []
    for version in _too_many(disk, folder, found.checkpoints, base, retention / _CHECKPOINTS_KEPT):
        disk.remove(checkpoint_path(folder, version))
    return len(found.entries) - len(behind)


def sweep(logs: DeltaLogs, snapshot: Snapshot, *, retention: float, at: float) -> None:
    """Delete files that no version younger than the retention (seconds) refers to, and what was never committed."""
    disk, folder = snapshot.disk, snapshot.folder
    live = {file.path for file in snapshot.files}
    opened = logs.open(folder)
    removed = {*opened.removed(hours=0)}
    old = {*opened.removed(hours=max(1, round(retention / 3_600)))}
    never_committed = at - max(retention, _LONGEST_UPDATE)
    for path in _parquet_files(disk, folder):
        relative = path.relative_to(folder).as_posix()
        if relative in live:
            continue
        if relative in old or (relative not in removed and disk.look(path).st_mtime < never_committed):
            reach("vacuum")
            disk.remove(path, missing_ok=True)
    for name in names_in(disk, staging_root(folder)):
        staged = staging_root(folder) / name
        if _last_written(disk, staged) < never_committed:
            disk.remove_tree(staged)


def _require_checkpoint(disk: Disk, logs: DeltaLogs, folder: Path, version: int) -> None:
    """Read a checkpoint again: what is removed behind it is nowhere else. On disk when this returns."""
    path = checkpoint_path(folder, version)
    with disk.open(path) as file:
        files = pq.ParquetFile(file).read(columns=["add.path"]).column("add").combine_chunks()
    expected = logs.open(folder, version).file_count()
    if len(files) - files.null_count != expected:
        raise StorageError(f"The checkpoint {path} does not hold what version {version} of the table does.")
    sync_files(disk, [path])


def _oldest_needed(disk: Disk, folder: Path, checkpoints: tuple[int, ...], moment: float) -> int | None:
    """The newest checkpoint that every version younger than the moment comes after."""
    return next((version for version in reversed(checkpoints) if _written(disk, folder, version) < moment), None)


def _too_many(disk: Disk, folder: Path, checkpoints: tuple[int, ...], base: int | None, gap: float) -> Iterator[int]:
    """Checkpoints without which every version of interest can still be opened soon; the two newest stay."""
    kept_at = float("-inf")
    for version in checkpoints[:-2]:
        if (base is not None and version < base) or _written(disk, folder, version) - kept_at < gap:
            yield version
        else:
            kept_at = _written(disk, folder, version)


def _written(disk: Disk, folder: Path, version: int) -> float:
    return disk.look(checkpoint_path(folder, version)).st_mtime


def _last_written(disk: Disk, folder: Path) -> float:
    """When something was last done in a folder, or in one below it."""
    inside = (f"{inner}/{name}" for inner, _, files in disk.walk(folder) for name in (".", *files))
    return max(disk.look(path).st_mtime for path in (str(folder), *inside))


def _parquet_files(disk: Disk, folder: Path) -> Iterator[Path]:
    for name in disk.names(folder):
        if name.startswith(("_", ".")):
            continue
        if is_folder(disk, folder / name):
            yield from files_below(disk, folder / name, suffix=".parquet")
        elif name.endswith(".parquet"):
            yield folder / name
