"""Entries of a Delta log, as this process writes them.

An entry is written beside the log, forced to disk, and only then linked to the name that makes it a version. Linking
fails if the name is taken: that is the compare-and-set. So an entry is whole and durable before anybody can see it, and
the time that it takes does not depend on how many there are: no folder is listed.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from freshtide.crashpoints import reach
from freshtide.storage.deltalog import METADATA_KEY, commit_path, log_folder
from freshtide.storage.records import Writer
from freshtide.storage.snapshots import DataFile
from freshtide.world import Disk, make_folder, names_in

_APPLICATION = "freshtide"
# How the names of entries begin that are not in the log yet, or never will be.
_UNPUBLISHED = ".entry-"
_ENGINE = "Freshtide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One commit: what it says about itself, and what it does to the table."""

    operation: str
    metadata: Mapping[str, Any]
    writer: Writer
    number: int
    """Of the update that the table is at afterwards."""
    at: float
    declares: tuple[Mapping[str, Any], ...] = ()
    """What is new about all rows."""
    add: tuple[DataFile, ...] = ()
    remove: tuple[DataFile, ...] = ()
    changes_rows: bool = True

    def content(self) -> bytes:
        # Not as ASCII: what UTF-8 cannot say, such as half a character, must not get into a log that others parse.
        lines = (json.dumps(action, ensure_ascii=False, separators=(",", ":")) for action in self._actions())
        return "".join(f"{line}\n" for line in lines).encode()

    def _actions(self) -> Iterator[Mapping[str, Any]]:
        at_ms = round(self.at * 1_000)
        said = {**self.metadata, "writer": self.writer.to_metadata()}
        yield {
            "commitInfo": {
                "timestamp": at_ms,
                "operation": self.operation,
                "operationParameters": {},
                "engineInfo": _ENGINE,
                METADATA_KEY: said,
            }
        }
        yield from self.declares
        for file in self.remove:
            yield {"remove": {**self._file(file), "deletionTimestamp": at_ms, "extendedFileMetadata": True}}
        for file in self.add:
            described = {"modificationTime": file.modified_ms, **({"stats": file.stats} if file.stats else {})}
            yield {"add": {**self._file(file), **described}}
        # Last: by this a whole entry is told from a torn one.
        yield {"txn": {"appId": _APPLICATION, "version": self.number}}

    def _file(self, file: DataFile) -> dict[str, Any]:
        return {
            "path": quote(file.path, safe="/="),
            "partitionValues": dict(file.partition_values),
            "size": file.size,
            "dataChange": self.changes_rows,
        }


def publish(disk: Disk, folder: Path, version: int, entry: Entry) -> None:
    """Make an entry a version of a log, whole and for good; FileExistsError: another one is that version."""
    target = commit_path(folder, version)
    if version == 0:
        _begin_log(disk, folder)
    hidden = target.with_name(f"{_UNPUBLISHED}{target.stem}-{uuid.uuid4().hex}")
    try:
        disk.write(hidden, entry.content())
        disk.sync(hidden)
        disk.link(hidden, target)
    finally:
        disk.remove(hidden, missing_ok=True)
    reach("log-entry")
    disk.sync(target.parent)


def discard_unpublished(disk: Disk, folder: Path) -> None:
    """Throw away the entries that a crash kept from getting into the log."""
    log = log_folder(folder)
    for name in names_in(disk, log):
        if name.startswith(_UNPUBLISHED):
            disk.remove(log / name)


def _begin_log(disk: Disk, folder: Path) -> None:
    """Spark may have made the table's folder, and the one of all tables may be new: their names are to last as well."""
    make_folder(disk, log_folder(folder))
    for above in (folder, *folder.parents[:2]):
        disk.sync(above)
