"""What the entries of a log have said, kept when they are removed.

A checkpoint keeps what a table holds and forgets how it came to that: which files were loaded, how many rows of them
went where, since when rows were revised. Before entries are removed their sum is written into the table's ledger, so
that the catalog can be rebuilt from what lies beside the tables however old they are. Each part of the ledger tells the
files of the entries that it stands for and the sum over all before, so that as a rule only the last one is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from freshtide.storage.records import LoadedArrival, UpdateKind, UpdateRecord
from freshtide.world import Disk, make_folder, names_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The sum of all updates up to a version."""

    version: int = -1
    epoch: int = 0
    """Of the last of them."""
    updates: int = 0
    last: UpdateRecord | None = None
    """The last of them, without its files."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Where rows went, since the table was last rebuilt."""
    revisions: tuple[tuple[int, int], ...] = ()
    """(number, revised_from) of updates that none after them reaches further back than."""
    keys_left: int = 0
    """The last update that keys may have left the table by."""

    def and_then(self, record: UpdateRecord) -> Ledger:
        rebuilt = record.kind is UpdateKind.REBUILD
        counted = {} if rebuilt else self.counts
        revisions = self.revisions
        if record.revised_from is not None:
            later = [known for known in revisions if known[1] < record.revised_from]
            revisions = (*later, (record.number, record.revised_from))
        return Ledger(
            version=self.version,
            epoch=record.writer.epoch,
            updates=self.updates + 1,
            last=replace(record, arrivals=()),
            counts={part: counted.get(part, 0) + value for part, value in record.counts.parts().items()},
            revisions=revisions,
            keys_left=record.number if rebuilt or record.left else self.keys_left,
        )

    def revised_since(self, number: int) -> int | None:
        """The earliest time stamp from which rows were revised by updates after a number."""
        return next((revised for after, revised in self.revisions if after > number), None)


def read_ledger(disk: Disk, folder: Path) -> Ledger:
    """The sum of what has been removed from the log; of nothing, as a rule."""
    last = max(_parts(disk, folder), default=None)
    return Ledger() if last is None else _ledger(_read(disk, last))


def loaded_files(disk: Disk, folder: Path) -> Iterator[tuple[int, LoadedArrival]]:
    """(number of the update, file) of all that was loaded by updates which are gone from the log, since a rebuild."""
    contents = [_read(disk, path) for path in sorted(_parts(disk, folder))]
    rebuilt = [place for place, content in enumerate(contents) if content["rebuilt"]]
    for content in contents[rebuilt[-1] if rebuilt else 0 :]:
        for number, *file in content["files"]:
            yield number, LoadedArrival.from_metadata(file)


def extend(disk: Disk, folder: Path, records: Iterable[tuple[int, UpdateRecord]], *, upto: int) -> None:
    """Add updates to the ledger, which then stands for all entries up to a version; on disk when this returns.

    Where it does already, because entries could not be removed the last time, it stays as it is.
    """
    ledger, rebuilt = read_ledger(disk, folder), False
    files: list[list[Any]] = []
    if upto <= ledger.version:
        return
    for _, record in records:
        if record.kind is UpdateKind.REBUILD:
            rebuilt, files = True, []
        files += [[record.number, *file.to_metadata()] for file in record.arrivals]
        ledger = ledger.and_then(record)
    content = {
        "version": upto,
        "epoch": ledger.epoch,
        "updates": ledger.updates,
        "last": None if ledger.last is None else ledger.last.to_metadata(),
        "counts": dict(ledger.counts),
        "revisions": ledger.revisions,
        "keys_left": ledger.keys_left,
        "rebuilt": rebuilt,
        "files": files,
    }
    place = _place(folder)
    make_folder(disk, place)
    partial = place / "partial"
    disk.write(partial, json.dumps(content).encode())
    disk.sync(partial)
    disk.rename(partial, place / f"{upto:020d}.json")
    disk.sync(place)


def _place(folder: Path) -> Path:
    # The underscore keeps readers and the sweeping of files away.
    return folder / "_ledger"


def _parts(disk: Disk, folder: Path) -> list[Path]:
    place = _place(folder)
    return [place / name for name in names_in(disk, place) if name.endswith(".json")]


def _read(disk: Disk, path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(disk.read(path))
    return content


def _ledger(content: dict[str, Any]) -> Ledger:
    return Ledger(
        version=content["version"],
        epoch=content["epoch"],
        updates=content["updates"],
        last=None if content["last"] is None else UpdateRecord.from_metadata(content["last"]),
        counts=content["counts"],
        revisions=tuple((number, revised) for number, revised in content["revisions"]),
        keys_left=content["keys_left"],
    )
