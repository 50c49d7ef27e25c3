"""The updates that a table has had, as its log tells them, and its ledger where the log begins later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from freshtide.storage import deltalog
from freshtide.storage.errors import StorageError
from freshtide.storage.ledger import Ledger, loaded_files, read_ledger
from freshtide.storage.records import LoadedArrival, UpdateRecord, writer_of
from freshtide.world import Disk


class History:
    """The updates of one table up to a version; those that were rolled back have never been."""

    def __init__(self, disk: Disk, folder: Path, version: int) -> None:
        self._disk = disk
        self._folder = folder
        self._version = version

    def before(self) -> Ledger:
        """The sum of the updates that are gone from the log."""
        return read_ledger(self._disk, self._folder)

    def loaded_before(self) -> Iterator[tuple[int, LoadedArrival]]:
        """(number, file) of all that was loaded by the updates that are gone from the log, since a rebuild."""
        return loaded_files(self._disk, self._folder)

    def newest_first(self) -> Iterator[tuple[int, UpdateRecord]]:
        """(version, record) of those that are in the log."""
        begins = self.before().version + 1
        highest: int | None = None
        for version in range(self._version, begins - 1, -1):
            said = self._said(version)
            if "back_to" in said:
                highest = said["back_to"] if highest is None else min(highest, said["back_to"])
            elif "number" in said and (highest is None or said["number"] <= highest):
                yield version, UpdateRecord.from_metadata(said)

    def since(self, number: int) -> Iterator[tuple[int, UpdateRecord]]:
        """Those of a greater number, newest first."""
        for version, record in self.newest_first():
            if record.number <= number:
                return
            yield version, record

    def oldest_first(self, *, after: int) -> list[tuple[int, UpdateRecord]]:
        """Those that were committed after a version, as far as they are in the log."""
        found: list[tuple[int, UpdateRecord]] = []
        for version in range(max(after, self.before().version) + 1, self._version + 1):
            said = self._said(version)
            if "number" in said:
                found.append((version, UpdateRecord.from_metadata(said)))
            elif "back_to" in said:
                found = [(old, record) for old, record in found if record.number <= said["back_to"]]
        return found

    def last(self) -> UpdateRecord | None:
        """The newest; fences and compactions are passed over."""
        _, newest = next(self.newest_first(), (None, self.before().last))
        return newest

    def epoch(self) -> int:
        """Of the right to write that the newest entry was made with."""
        return writer_of(self._said(self._version)).epoch

    def revised_since(self, number: int) -> int | None:
        """The earliest time stamp from which rows were revised by updates after a number; None: none was."""
        found = [record.revised_from for _, record in self.since(number)]
        found.append(self.before().revised_since(number))
        return min((revised for revised in found if revised is not None), default=None)

    def keys_left_since(self, number: int) -> bool:
        """Whether keys may have left the table by updates after a number."""
        if self.before().keys_left > number:
            return True
        return any(record.may_lose_keys for _, record in self.since(number))

    def made_by(self, nonce: str, *, after: int) -> bool:
        """Whether an entry after a version was made by the attempt of this nonce."""
        return any(writer_of(self._said(version)).nonce == nonce for version in range(after + 1, self._version + 1))

    def _said(self, version: int) -> Mapping[str, Any]:
        try:
            return deltalog.metadata(self._disk, self._folder, version)
        except FileNotFoundError:
            raise BrokenLogError(self._folder, version, "missing") from None


class BrokenLogError(StorageError):
    """An entry of a log that is missing, or damaged although others came after it: no crash does that."""

    def __init__(self, folder: Path, version: int, fault: Literal["missing", "damaged"]) -> None:
        super().__init__(
            f"Entry {version} of the log of '{folder.name}' is {fault}, {deltalog.commit_path(folder, version)}: "
            "nobody can tell what it changed.",
            way_out=WAY_OUT.format(folder=folder),
        )


WAY_OUT = (
    "Restore {folder} from a backup, or move it away and start a run: then the table is made anew, from the files of "
    "its feed or from the tables that it reads."
)
"""Out of a table that cannot be opened."""
