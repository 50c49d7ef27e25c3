"""What makes the targets of a flow visible, each prepared beforehand: a table, a folder, files of a folder.

Everything is on disk for good before: Parquet files beside the logs of their tables, folders beside the places they are
to take, all with their names. Each step can be repeated and knows by what it finds whether it has been done: a table's
log has its commit, and a folder or file that is to be moved is still there or not. What became of it afterwards does
not matter: whoever takes a file away that has landed has had it.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from freshtide.storage.changes import Change
from freshtide.storage.records import UpdateRecord
from freshtide.storage.snapshots import DataFile
from freshtide.storage.store import Store
from freshtide.world import make_folder


class Fate(Enum):
    """What has become of a commit that was decided on."""

    OPEN = "open"
    LANDED = "landed"
    OVERTAKEN = "overtaken"
    """Its place has been taken by another: it can never be carried out."""


class Commit(Protocol):
    """One target, prepared."""

    kind: ClassVar[str]

    def check(self, store: Store) -> None:
        """Raise what would keep it from ever being carried out."""
        ...

    def fate(self, store: Store) -> Fate:
        """What has become of it, as far as can be told."""
        ...

    def carry_out(self, store: Store) -> None:
        """Make it visible, unless that has been done."""
        ...

    def tidy(self, store: Store) -> None:
        """All targets are there: drop what was needed to get there."""
        ...

    def mend(self, store: Store) -> None:
        """Carrying it out was interrupted: put right what that may have left half done."""
        ...

    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    kind: ClassVar[str] = "table"
    table: str
    change: Change

    def check(self, store: Store) -> None:
        store.table(self.table).require_fitting(self.change)

    def fate(self, store: Store) -> Fate:
        landed = store.table(self.table).landed(self.change.record.number)
        if landed is None:
            return Fate.OPEN
        return Fate.LANDED if landed.writer.nonce == self.change.record.writer.nonce else Fate.OVERTAKEN

    def carry_out(self, store: Store) -> None:
        store.table(self.table).commit(self.change)

    def tidy(self, store: Store) -> None:
        """A table keeps its old files for as long as its versions are kept."""

    def mend(self, store: Store) -> None:
        # The commit may be torn: then the log would not let it be made again.
        store.table(self.table).recover()

    def as_json(self) -> dict[str, Any]:
        change = self.change
        return {
            "table": self.table,
            "record": change.record.to_metadata(),
            "at": change.at,
            "schema": base64.b64encode(change.schema.serialize().to_pybytes()).decode(),
            "partition_by": list(change.partition_by),
            "add": [asdict(file) for file in change.add],
            "replace_all": change.replace_all,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TableCommit:
        change = Change(
            record=UpdateRecord.from_metadata(data["record"]),
            at=data["at"],
            schema=pa.ipc.read_schema(pa.py_buffer(base64.b64decode(data["schema"]))),
            partition_by=tuple(data["partition_by"]),
            add=tuple(DataFile(**file) for file in data["add"]),
            replace_all=data["replace_all"],
        )
        return cls(table=data["table"], change=change)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderCommit:
    """A folder of files that takes the place of another."""

    kind: ClassVar[str] = "folder"
    prepared: str
    target: str
    before: str
    """Where the folder goes that was there."""

    def check(self, store: Store) -> None:
        """What is in its way is moved aside."""

    def fate(self, store: Store) -> Fate:  # noqa: ARG002 - nobody can tell who has moved a folder
        return Fate.OPEN

    def carry_out(self, store: Store) -> None:
        store.authority.require()
        disk, target = store.disk, Path(self.target)
        if disk.exists(self.prepared):
            if disk.exists(target):
                # Only an empty folder can be replaced by a move; what was there before is not needed any more.
                disk.remove_tree(self.before)
                disk.rename(target, self.before)
            disk.rename(self.prepared, target)
        if disk.exists(target.parent):
            disk.sync(target.parent)

    def tidy(self, store: Store) -> None:
        store.disk.remove_tree(self.before)

    def mend(self, store: Store) -> None:
        """A folder is moved at once or not at all."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FolderCommit:
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesCommit:
    """Files that go to those of a folder."""

    kind: ClassVar[str] = "files"
    prepared: str
    target: str
    names: tuple[str, ...]

    def check(self, store: Store) -> None:
        """Their names are new: nothing is in their way."""

    def fate(self, store: Store) -> Fate:  # noqa: ARG002 - whoever takes a file away that has landed has had it
        return Fate.OPEN

    def carry_out(self, store: Store) -> None:
        store.authority.require()
        disk, target = store.disk, Path(self.target)
        make_folder(disk, target)
        # Whoever made the folder may have died, or failed, before its name was on disk: files would go with it.
        disk.sync(target.parent)
        for name in self.names:
            staged = Path(self.prepared) / name
            if disk.exists(staged):
                disk.rename(staged, target / name)
        disk.sync(target)

    def tidy(self, store: Store) -> None:
        store.disk.remove_tree(self.prepared)

    def mend(self, store: Store) -> None:
        """Files are moved one by one, each at once or not at all."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FilesCommit:
        return cls(**{**data, "names": tuple(data["names"])})


KINDS: dict[str, type[TableCommit | FolderCommit | FilesCommit]] = {
    kind.kind: kind for kind in (TableCommit, FolderCommit, FilesCommit)
}
