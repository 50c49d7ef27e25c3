"""What keeps the millionth update as quick as the first: checkpoints, a short log, no files that nobody needs.

Nothing here changes what a table holds. An entry of the log is removed only behind a checkpoint that was read again and
is on disk, after what it said has been added to the ledger. A file is removed only when no version refers to it that is
younger than the retention.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
from deltalake import DeltaTable

from freshtide.crashpoints import reach
from freshtide.storage import ledger
from freshtide.storage.deltalog import checkpoint_hint, checkpoint_path, commit_path, listing
from freshtide.storage.durability import sync_files
from freshtide.storage.errors import StorageError
from freshtide.storage.history import History
from freshtide.storage.parquet import staging_root
from freshtide.storage.snapshots import Snapshot

LEAST_PRUNED = 1_000
"""Fewer entries than this stay in the log however old they are: each removal adds a part to the ledger."""
_MOST_PRUNED = 10_000
# Old versions can be opened within the retention: from a checkpoint that is at most this part of it older.
_CHECKPOINTS_KEPT = 16
# What an update has written and not committed after so long it never will.
_LONGEST_UPDATE = 86_400.0


def write_checkpoint(snapshot: Snapshot) -> None:
    """Write a checkpoint of a version, so that opening the table does not replay the whole log."""
    folder, version = snapshot.folder, snapshot.version
    try:
        DeltaTable(folder, version=version).create_checkpoint()
        reach("checkpoint")
        _require_checkpoint(folder, version)
        sync_files([checkpoint_hint(folder)])
    except BaseException:
        # Torn, it would keep everybody from opening the table; the log is whole without it.
        checkpoint_hint(folder).unlink(missing_ok=True)
        checkpoint_path(folder, version).unlink(missing_ok=True)
        raise


def prune_log(folder: Path, *, retention: float, at: float, least: int | None = None) -> int:
    """Remove entries older than the retention, and checkpoints that are too many; how many entries are left.

    Some at a time, so that nobody waits long for it.
    """
    found = listing(folder)
    base = _oldest_needed(folder, found.checkpoints, at - retention)
    behind = [version for version in found.entries if base is not None and version < base][:_MOST_PRUNED]
    if base is not None and len(behind) >= (LEAST_PRUNED if least is None else least):
        _require_checkpoint(folder, base)
        gone = behind[-1]
        ledger.extend(folder, History(folder, gone).oldest_first(after=-1), upto=gone)
        for version in behind:
            commit_path(folder, version).unlink()
    else:
        behind = []
    for version in _too_many(folder, found.checkpoints, base, retention / _CHECKPOINTS_KEPT):
        checkpoint_path(folder, version).unlink()
    return len(found.entries) - len(behind)


def sweep(snapshot: Snapshot, *, retention: float, at: float) -> None:
    """Delete files that no version younger than the retention (seconds) refers to, and what was never committed."""
    folder = snapshot.folder
    live = {file.path for file in snapshot.files}
    handle = DeltaTable(folder)
    removed = {*_removed(handle, hours=0)}
    old = {*_removed(handle, hours=max(1, round(retention / 3_600)))}
    never_committed = at - max(retention, _LONGEST_UPDATE)
    for path in _parquet_files(folder):
        relative = path.relative_to(folder).as_posix()
        if relative in live:
            continue
        if relative in old or (relative not in removed and path.stat().st_mtime < never_committed):
            reach("vacuum")
            path.unlink(missing_ok=True)
    for staged in staging_root(folder).glob("*"):
        if max(path.stat().st_mtime for path in (staged, *staged.rglob("*"))) < never_committed:
            shutil.rmtree(staged, ignore_errors=True)


def _require_checkpoint(folder: Path, version: int) -> None:
    """Read a checkpoint again: what is removed behind it is nowhere else. On disk when this returns."""
    path = checkpoint_path(folder, version)
    files = pq.ParquetFile(path).read(columns=["add.path"]).column("add").combine_chunks()
    expected = len(DeltaTable(folder, version=version).file_uris())
    if len(files) - files.null_count != expected:
        raise StorageError(f"The checkpoint {path} does not hold what version {version} of the table does.")
    sync_files([path])


def _oldest_needed(folder: Path, checkpoints: tuple[int, ...], moment: float) -> int | None:
    """The newest checkpoint that every version younger than the moment comes after."""
    return next((version for version in reversed(checkpoints) if _written(folder, version) < moment), None)


def _too_many(folder: Path, checkpoints: tuple[int, ...], base: int | None, gap: float) -> Iterator[int]:
    """Checkpoints without which every version of interest can still be opened soon; the two newest stay."""
    kept_at = float("-inf")
    for version in checkpoints[:-2]:
        if (base is not None and version < base) or _written(folder, version) - kept_at < gap:
            yield version
        else:
            kept_at = _written(folder, version)


def _written(folder: Path, version: int) -> float:
    return checkpoint_path(folder, version).stat().st_mtime


def _removed(handle: DeltaTable, *, hours: int) -> list[str]:
    """Files that were removed from the table at least so long ago, and are on disk still."""
    return handle.vacuum(hours, dry_run=True, enforce_retention_duration=False)


def _parquet_files(folder: Path) -> Iterator[Path]:
    for inner in folder.iterdir():
        if inner.name.startswith(("_", ".")):
            continue
        if inner.is_dir():
            yield from inner.rglob("*.parquet")
        elif inner.suffix == ".parquet":
            yield inner
