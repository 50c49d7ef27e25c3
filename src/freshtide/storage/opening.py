"""Opening a table on disk, and mending checkpoints that stand in the way."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from freshtide.storage import deltalog
from freshtide.storage.errors import DiskError, StorageError
from freshtide.storage.history import WAY_OUT, BrokenLogError
from freshtide.world import Disk

_UNREADABLE_FEATURES = ("delta.enableDeletionVectors", "delta.columnMapping.mode")
# How delta-rs, which is written in Rust, ends a message of the operating system; 2 is a file that is not there.
_SYSTEM_ERROR, _NOT_THERE = "(os error ", "(os error 2)"


def open_newest(disk: Disk, folder: Path) -> DeltaTable | None:
    """The table as far as its log is whole; None: there is none. All that is ever changed is a bad checkpoint."""
    found = deltalog.listing(disk, folder)
    if not found.entries:
        return None
    try:
        handle = DeltaTable(folder)
    except (DeltaError, OSError) as error:
        _require_disk(folder, error)
        mended = _open_without_checkpoints(disk, folder)
        if mended is None:
            return None
        handle = mended
    _require_whole(disk, folder, found)
    _refuse_foreign_features(folder, handle)
    return handle


def open_version(folder: Path, version: int) -> DeltaTable:
    try:
        return DeltaTable(folder, version=version)
    except (DeltaError, OSError) as error:
        _require_disk(folder, error)
        raise StorageError(
            f"Version {version} of the table '{folder.name}' in {folder} cannot be opened: {_first_line(error)}",
            way_out=WAY_OUT.format(folder=folder),
        ) from error


def _open_without_checkpoints(disk: Disk, folder: Path) -> DeltaTable | None:
    version = deltalog.newest_whole(disk, folder)
    if version is None:
        return None
    failure: StorageError | None = None
    for _ in deltalog.without_checkpoints(disk, folder):
        try:
            return open_version(folder, version)
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


def _require_disk(folder: Path, error: Exception) -> None:
    """Tell what the system refuses from what is wrong with the table: nothing is dropped for want of a descriptor."""
    said = str(error)
    if _SYSTEM_ERROR in said and _NOT_THERE not in said:
        raise DiskError(f"The table '{folder.name}' in {folder} cannot be read: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """Without the values of the program that found it."""
    return str(error).partition("\n")[0]


def _refuse_foreign_features(folder: Path, handle: DeltaTable) -> None:
    configuration = handle.metadata().configuration
    for feature in _UNREADABLE_FEATURES:
        if configuration.get(feature, "none").lower() not in {"none", "false"}:
            raise StorageError(
                f"The table '{folder.name}' uses {feature}: its Parquet files are not its content.",
                way_out="Switch the feature off and rewrite the table with the tool that set it.",
            )
