"""From one version of a table to the next: the entry that makes it, and what the table is afterwards.

Nothing is written here: a transition is what is going to be done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from freshtide.storage.changes import Change, columns_after
from freshtide.storage.declarations import Declaration
from freshtide.storage.encoding import RowEncoding
from freshtide.storage.entries import Entry
from freshtide.storage.records import Writer
from freshtide.storage.snapshots import DataFile, Snapshot
from freshtide.world import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """The next version of a table, and how it comes about."""

    what: str
    """In words, as the subject of a sentence."""
    entry: Entry
    after: Snapshot


def updated(disk: Disk, encoding: RowEncoding, folder: Path, current: Snapshot | None, change: Change) -> Transition:
    """By an update; without a current version it is the first."""
    record = change.record
    columns = columns_after(folder.name, current, change)
    declaration = _declared(folder.name, current, change, columns.spark)
    gone = change.leaves(current)
    entry = Entry(
        operation="CREATE TABLE" if current is None else "WRITE",
        metadata=record.to_metadata(),
        writer=record.writer,
        number=record.number,
        at=change.at,
        declares=declaration.actions_after(current.declaration if current else None),
        add=change.add,
        remove=gone,
    )
    after = Snapshot(
        disk=disk,
        encoding=encoding,
        folder=folder,
        version=0 if current is None else current.version + 1,
        schema=columns.arrow,
        declaration=declaration,
        files=_exchanged(current.files if current else (), gone, change.add),
        record=record,
    )
    return Transition(what=f"Update {record.number}", entry=entry, after=after)


def rewritten(
    current: Snapshot, *, add: tuple[DataFile, ...], remove: tuple[DataFile, ...], writer: Writer, at: float
) -> Transition:
    """By files that hold the same rows as those whose place they take."""
    remark = _remark(current, "OPTIMIZE", {"kind": "compaction"}, writer, at)
    after = replace(_next(current), files=_exchanged(current.files, remove, add))
    return Transition(what="A compaction", entry=replace(remark, add=add, remove=remove), after=after)


def restored(current: Snapshot, before: Snapshot, number: int, *, writer: Writer, at: float) -> Transition:
    """Back to what it held before; `number` is the last update that counts."""
    there, then = ({file.path for file in snapshot.files} for snapshot in (current, before))
    remark = _remark(current, "RESTORE", {"kind": "rollback", "back_to": number}, writer, at)
    entry = replace(
        remark,
        number=number,
        declares=before.declaration.actions_after(current.declaration),
        add=tuple(file for file in before.files if file.path not in there),
        remove=tuple(file for file in current.files if file.path not in then),
        changes_rows=True,
    )
    after = replace(before, version=current.version + 1)
    return Transition(what=f"Going back to update {number}", entry=entry, after=after)


def fenced(current: Snapshot, *, writer: Writer, at: float) -> Transition:
    """By nothing but the number of the right to write."""
    return Transition(
        what="A fence", entry=_remark(current, "FENCE", {"kind": "fence"}, writer, at), after=_next(current)
    )


def _remark(current: Snapshot, operation: str, metadata: Mapping[str, Any], writer: Writer, at: float) -> Entry:
    """An entry that is no update."""
    number = current.number
    return Entry(operation=operation, metadata=metadata, writer=writer, number=number, at=at, changes_rows=False)


def _next(current: Snapshot) -> Snapshot:
    return replace(current, version=current.version + 1)


def _declared(name: str, current: Snapshot | None, change: Change, schema: str) -> Declaration:
    if current is None:
        return Declaration.new(name, at=change.at, schema=schema, partition_by=change.partition_by)
    partition_by = change.partition_by if change.replace_all else current.partition_by
    return current.declaration.changed(schema=schema, partition_by=partition_by)


def _exchanged(
    files: tuple[DataFile, ...], gone: tuple[DataFile, ...], new: tuple[DataFile, ...]
) -> tuple[DataFile, ...]:
    """The files of a table after some have left it and others have come."""
    if not gone:
        return files + new
    left = {file.path for file in gone}
    return (*(file for file in files if file.path not in left), *new)
