"""Opening a table on disk, and mending checkpoints that stand in the way."""

from __future__ import annotations

from pathlib import Path

from freshtide.storage import deltalog
from freshtide.storage.errors import DiskError, StorageError
from freshtide.storage.history import WAY_OUT, BrokenLogError
from freshtide.storage.logs import DeltaLogs, OpenLog, UnreadableLogError
from freshtide.world import Disk

_UNREADABLE_FEATURES = ("delta.enableDeletionVectors", "delta.columnMapping.mode")


def open_newest(disk: Disk, logs: DeltaLogs, folder: Path) -> OpenLog | None:
    """The table as far as its log is whole; None: there is none. All that is ever changed is a bad checkpoint."""
    found = deltalog.listing(disk, folder)
    if not found.entries:
        return None
    try:
        opened = logs.open(folder)
    except OSError as error:
        raise _refused(folder, error) from error
    except UnreadableLogError:
        mended = _open_without_checkpoints(disk, logs, folder)
        if mended is None:
            return None
        opened = mended
    _require_whole(disk, folder, found)
    _refuse_foreign_features(folder, opened)
    return opened


def open_version(logs: DeltaLogs, folder: Path, version: int) -> OpenLog:
    try:
        return logs.open(folder, version)
    except OSError as error:
        raise _refused(folder, error) from error
    except UnreadableLogError as error:
        raise StorageError(
            f"Version {version} of the table '{folder.name}' in {folder} cannot be opened: {error}",
            way_out=WAY_OUT.format(folder=folder),
        ) from error


def _open_without_checkpoints(disk: Disk, logs: DeltaLogs, folder: Path) -> OpenLog | None:
    version = deltalog.newest_whole(disk, folder)
    if version is None:
        return None
    failure: StorageError | None = None
    for _ in deltalog.without_checkpoints(disk, folder):
        try:
            return open_version(logs, folder, version)
        except StorageError as error:
            failure = error
    _require_whole(disk, folder, deltalog.listing(disk, folder))
    raise failure or StorageError(
        f"The table '{folder.name}' in {folder} cannot be opened: no checkpoint of its log can be read.",
        way_out=WAY_OUT.format(folder=folder),
    )


def _require_whole(disk: Disk, folder: Path, found: deltalog.Listing) -> None:
    """Refuse a log of which a part in the middle is gone. What is torn at its end was never promised to anybody."""
    if (missing := deltalog.missing_entry(found)) is not None:
        raise BrokenLogError(folder, missing, "missing")
    if (torn := deltalog.torn_entry(disk, folder, found)) is not None:
        raise BrokenLogError(folder, torn, "damaged")


def _refused(folder: Path, error: OSError) -> DiskError:
    return DiskError(f"The table '{folder.name}' in {folder} cannot be read: {error}")


def _refuse_foreign_features(folder: Path, opened: OpenLog) -> None:
    configuration = opened.declaration().configuration
    for feature in _UNREADABLE_FEATURES:
        if configuration.get(feature, "none").lower() not in {"none", "false"}:
            raise StorageError(
                f"The table '{folder.name}' uses {feature}: its Parquet files are not its content.",
                way_out="Switch the feature off and rewrite the table with the tool that set it.",
            )
