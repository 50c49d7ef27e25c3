"""The targets of a flow, committed together or not at all.

Everything is prepared first: Parquet files lie beside the logs of their tables, folders beside the places they are to
take, all of it on disk for good. Then a journal is written that says what is to be done, and only then is it done, one
target after another. Each step can be repeated: a table's commit is a compare-and-set on its number, a folder is moved
if it is still there to be moved.

- A crash before the journal is whole leaves every target as it was; what was prepared is thrown away by the next run.
- A crash after that leaves the journal: whoever runs a flow of the project next reads it and finishes the rest.
- A commit that cannot be carried out undoes those before it: tables are rolled back, folders moved back.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from freshtide.storage import Change, DataFile, Store, UpdateRecord
from freshtide.storage.durability import sync_files

_JOURNAL = "journal.json"


class Commit(Protocol):
    """One target, prepared."""

    kind: ClassVar[str]

    def carry_out(self, store: Store) -> None:
        """Make it visible, unless that has been done."""
        ...

    def undo(self, store: Store) -> None:
        """Bring back what was there before, unless that is still there."""
        ...

    def tidy(self) -> None:
        """All targets are there: drop what would have been needed to undo this one."""
        ...

    def mend(self, store: Store) -> None:
        """A process that was carrying it out has died: put right what that may have left half done."""
        ...

    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    kind: ClassVar[str] = "table"
    table: str
    change: Change

    def carry_out(self, store: Store) -> None:
        store.table(self.table).commit(self.change)

    def undo(self, store: Store) -> None:
        store.table(self.table).roll_back(self.change.record.number - 1, at=self.change.at)

    def tidy(self) -> None:
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

    def carry_out(self, store: Store) -> None:  # noqa: ARG002 - files are in no store
        prepared, target, before = map(Path, (self.prepared, self.target, self.before))
        if not prepared.exists():
            return
        if target.exists():
            target.rename(before)
        prepared.rename(target)
        sync_files([target])

    def undo(self, store: Store) -> None:  # noqa: ARG002 - files are in no store
        prepared, target, before = map(Path, (self.prepared, self.target, self.before))
        if not prepared.exists():
            shutil.rmtree(target, ignore_errors=True)
        if before.exists():
            before.rename(target)

    def tidy(self) -> None:
        shutil.rmtree(self.before, ignore_errors=True)

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

    def carry_out(self, store: Store) -> None:  # noqa: ARG002 - files are in no store
        target = Path(self.target)
        target.mkdir(parents=True, exist_ok=True)
        for name in self.names:
            staged = Path(self.prepared) / name
            if staged.exists():
                staged.rename(target / name)
        sync_files([target / name for name in self.names])

    def undo(self, store: Store) -> None:  # noqa: ARG002 - files are in no store
        for name in self.names:
            if not (Path(self.prepared) / name).exists():
                (Path(self.target) / name).unlink(missing_ok=True)

    def tidy(self) -> None:
        shutil.rmtree(self.prepared, ignore_errors=True)

    def mend(self, store: Store) -> None:
        """Files are moved one by one, each at once or not at all."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FilesCommit:
        return cls(**{**data, "names": tuple(data["names"])})


_KINDS: dict[str, type[TableCommit | FolderCommit | FilesCommit]] = {
    kind.kind: kind for kind in (TableCommit, FolderCommit, FilesCommit)
}


def commit_together(folder: Path, commits: Sequence[Commit], store: Store) -> None:
    """Carry out all commits or none; the journal is kept in the folder meanwhile."""
    write_journal(folder, commits)
    _carry_out(folder, commits, store)


def finish_interrupted(folders: Iterable[Path], store: Store) -> None:
    """Finish what a crash has interrupted between two commits."""
    for folder in folders:
        journal = folder / _JOURNAL
        if journal.exists():
            listed = json.loads(journal.read_text())
            commits = [_KINDS[each.pop("kind")].from_json(each) for each in listed]
            for commit in commits:
                commit.mend(store)
            _carry_out(folder, commits, store)


def write_journal(folder: Path, commits: Sequence[Commit]) -> None:
    """Say what is to be done; from here on it will be done, whatever happens to this process."""
    whole = folder / _JOURNAL
    partial = whole.with_suffix(".partial")
    partial.write_text(json.dumps([{"kind": commit.kind, **commit.as_json()} for commit in commits]))
    sync_files([partial])
    partial.rename(whole)
    sync_files([whole])


def _carry_out(folder: Path, commits: Sequence[Commit], store: Store) -> None:
    begun: list[Commit] = []
    try:
        for commit in commits:
            begun.append(commit)
            commit.carry_out(store)
    except Exception:
        for commit in reversed(begun):
            commit.undo(store)
        (folder / _JOURNAL).unlink()
        raise
    (folder / _JOURNAL).unlink()
    for commit in commits:
        commit.tidy()
