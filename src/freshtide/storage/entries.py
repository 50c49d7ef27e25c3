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
# Where first entries of logs are before they are published, by who may write them.
_BEGINNINGS = ".beginnings"
_ENGINE = "Freshtide"
# Not as ASCII: what UTF-8 cannot say, such as half a character, must not get into a log that others parse.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


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
        return "".join([f"{_encode(action)}\n" for action in self._actions()]).encode()

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
    beside = target.parent
    if version == 0:
        _begin_log(disk, folder)
        beside = _beginning(folder, entry.writer.epoch)
    hidden = beside / f"{_UNPUBLISHED}{target.stem}-{uuid.uuid4().hex}"
    try:
        disk.write(hidden, entry.content())
        disk.sync(hidden)
        disk.link(hidden, target)
    finally:
        disk.remove(hidden, missing_ok=True)
    if version == 0:
        disk.remove_tree(beside)
    reach("log-entry")
    disk.sync(target.parent)


def prepare_beginning(disk: Disk, folder: Path, epoch: int) -> None:
    """Make the place where the first entry of a log is written before it is published, by the holder of one right.

    A log without entries cannot be fenced by one. So a first entry waits in a folder that goes with the right to write:
    who has taken over removes it. To be called before the right is asked for: who makes it after that, and has slept in
    between, finds that it has lost the right.
    """
    make_folder(disk, _beginning(folder, epoch))


def bar_beginnings(disk: Disk, root: Path, *, before: int) -> None:
    """Keep whoever has an older right to write from beginning a log: what it has prepared is no more."""
    above = root / _BEGINNINGS
    for name in sorted(names_in(disk, above)):
        epoch = name.partition("-")[0]
        if not epoch.isdigit() or int(epoch) >= before:
            continue
        # Whoever is awake may write another entry while this one is removed; it cannot make the folder anew.
        while disk.exists(above / name):
            disk.remove_tree(above / name)


def _beginning(folder: Path, epoch: int) -> Path:
    return folder.parent / _BEGINNINGS / f"{epoch}-{folder.name}"


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
