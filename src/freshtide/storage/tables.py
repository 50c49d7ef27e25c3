"""One Delta table and the only way to change it: a compare-and-set on its version.

What the table holds in memory is what its log says. Whatever goes wrong around a commit, the log is read again before
anything is said about it; until that has succeeded nothing is known, and nothing is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from freshtide.core.errors import LeaseLostError
from freshtide.crashpoints import reach
from freshtide.storage import deltalog, parquet
from freshtide.storage.authority import Authority, Unrestricted
from freshtide.storage.changes import Change, columns_after
from freshtide.storage.deltars import DeltaRs
from freshtide.storage.encoding import Parquet, RowEncoding
from freshtide.storage.entries import discard_unpublished, prepare_beginning, publish
from freshtide.storage.errors import DiskError, ForeignCommitError, StorageError
from freshtide.storage.history import History
from freshtide.storage.housekeeping import prune_log, sweep, write_checkpoint
from freshtide.storage.logs import DeltaLogs, OpenLog
from freshtide.storage.opening import open_newest, open_version
from freshtide.storage.records import UpdateRecord, Writer
from freshtide.storage.snapshots import DataFile, Snapshot
from freshtide.storage.transitions import Transition, fenced, restored, rewritten, updated
from freshtide.world import Disk, OsDisk, sync_files

_RECENT_SNAPSHOTS = 64
_CHECKPOINT_EVERY = 32
# A checkpoint lists the log: where that is long, one is written more seldom, and takes no more of each commit's time.
_ENTRIES_PER_COMMIT = 64
_SWEEP_EVERY = 256


class StoredTable:
    """A Delta table with one writer, and readers that pin snapshots."""

    def __init__(
        self,
        folder: Path,
        *,
        time_column: str | None,
        disk: Disk | None = None,
        logs: DeltaLogs | None = None,
        encoding: RowEncoding | None = None,
    ) -> None:
        self.disk = disk or OsDisk()
        self.logs = logs or DeltaRs()
        self.encoding = encoding or Parquet()
        self.folder = folder
        self.name = folder.name
        self.time_column = time_column
        self.authority: Authority = Unrestricted()
        self._current: Snapshot | None = None
        self._epoch = 0
        """Of the right to write that the newest entry was made with, since this process has it."""
        self._recovered = -1
        """The version that the table was at when this process took it over."""
        self._recent: tuple[Snapshot, ...] = ()
        """Replaced as a whole: others look through it at any time."""
        self._is_unknown = False
        """Whether what is in memory may not be what is on disk."""
        self._looking_again = threading.Lock()
        self._log_length = self._checkpointed = self._swept = 0
        self._swept_at = float("-inf")

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest version; None while the table has never been written."""
        if self._is_unknown:
            self._look_again()
        return self._current

    def recover(self) -> Snapshot | None:
        """Mend what a crash may have torn, then read the log. Only for the process that runs the warehouse."""
        with self._blaming_disk():
            parquet.discard_staged(self.disk, self.folder)
            discard_unpublished(self.disk, self.folder)
            deltalog.drop_torn_tail(self.disk, self.folder)
        reach("recovery")
        self._is_unknown = True
        current = self.snapshot
        # The folder may come from elsewhere: with what rights it was written there says nothing here.
        self._recovered, self._epoch = (-1 if current is None else current.version), 0
        return current

    def open(self) -> Snapshot | None:
        """Read the log as far as it is whole; all that is ever changed on disk is an unreadable checkpoint."""
        with self._blaming_disk():
            opened = open_newest(self.disk, self.logs, self.folder)
            if opened is None:
                self._current = None
                return None
            current = self._snapshot_of(opened)
            found = deltalog.listing(self.disk, self.folder)
        self._epoch = self._history(current).epoch() if current.version > self._recovered else 0
        self._log_length, self._checkpointed = len(found.entries), max(found.checkpoints, default=0)
        self._swept = current.version
        self._install(current)
        return current

    def records(self, *, after: int = -1) -> list[tuple[int, UpdateRecord]]:
        """(version, record) of the updates committed after a version, oldest first, as far as they are in the log."""
        current = self.snapshot
        return [] if current is None else self._history(current).oldest_first(after=after)

    def history(self) -> History | None:
        """All updates that the table has had; None while it has never been written."""
        current = self.snapshot
        return None if current is None else self._history(current)

    def revised_since(self, number: int) -> int | None:
        """From which time stamp on rows have been revised by updates after a number; None: none has been."""
        current = self.snapshot
        return None if current is None or current.number <= number else self._history(current).revised_since(number)

    def keys_left_since(self, number: int) -> bool:
        """Whether keys may have left the table by updates after a number."""
        current = self.snapshot
        return current is not None and current.number > number and self._history(current).keys_left_since(number)

    def after(self, number: int) -> Snapshot | None:
        """The table as it was after the update of a number; None where no version of it is left whole."""
        current = self.snapshot
        found = () if current is None else self._history(current).since(number - 1)
        for version, record in found:
            if record.number == number:
                snapshot = self._snapshot_of(open_version(self.logs, self.folder, version), record)
                return snapshot if snapshot.is_whole() else None
        return None

    def landed(self, number: int) -> UpdateRecord | None:
        """The update of a number; None where the table has not come to it."""
        history = self.history()
        return (
            None
            if history is None
            else next((found for _, found in history.since(number - 1) if found.number == number), None)
        )

    def as_of(self, freshness: int) -> Snapshot | None:
        """A version of exactly this freshness, where it is still at hand."""
        return next((snapshot for snapshot in reversed(self._recent) if snapshot.freshness == freshness), None)

    def write(self, rows: pa.Table, *, number: int, partition_by: tuple[str, ...] = ()) -> list[DataFile]:
        """Write rows, ready to be committed."""
        return parquet.write_arrow(
            self.disk,
            self.encoding,
            self.folder,
            rows,
            number=number,
            partition_by=partition_by,
            time_column=self.time_column,
        )

    def write_part(self, rows: pa.Table, *, number: int, partition_values: Mapping[str, str | None]) -> DataFile:
        """Write rows of one partition as one durable file, ready to be committed."""
        return self.put_part(self.encoding.encoded(rows), number=number, partition_values=partition_values)

    def put_part(self, content: Any, *, number: int, partition_values: Mapping[str, str | None]) -> DataFile:
        """The same for rows that are encoded."""
        file = parquet.put_part(
            self.disk,
            self.encoding,
            self.folder,
            content,
            number=number,
            partition_values=partition_values,
            time_column=self.time_column,
        )
        sync_files(self.disk, [self.folder / file.path], under=self.folder)
        return file

    def discard(self, files: Iterable[DataFile]) -> None:
        """Delete files that were written and will not be committed."""
        for file in files:
            self.disk.remove(self.folder / file.path, missing_ok=True)

    def staging(self, number: int) -> Path:
        return parquet.staging_folder(self.folder, number)

    def adopt(self, staging: Path, *, number: int, partition_by: tuple[str, ...] = ()) -> list[DataFile]:
        """Take over the Parquet files that Spark wrote into a staging folder, ready to be committed."""
        return parquet.adopt_staged(
            self.disk,
            self.encoding,
            self.folder,
            staging,
            number=number,
            partition_by=partition_by,
            time_column=self.time_column,
        )

    def require_fitting(self, change: Change) -> None:
        """Refuse a change whose columns or partitions do not fit those of the table."""
        columns_after(self.name, self.snapshot, change)

    def commit(self, change: Change) -> Snapshot:
        """Make the change the next version, unless it is in the log already."""
        current = self.snapshot
        record = replace(change.record, writer=replace(change.record.writer, epoch=self.authority.epoch))
        if current is not None and current.number >= record.number:
            return self._landed_before(current, record)
        return self._publish(updated(self.disk, self.encoding, self.folder, current, replace(change, record=record)))

    def rewrite(self, *, add: tuple[DataFile, ...], remove: tuple[DataFile, ...], at: float) -> Snapshot:
        """Replace files by others with the same rows; the table's content and number stay."""
        return self._publish(rewritten(self._known(), add=add, remove=remove, writer=self._writer(), at=at))

    def roll_back(self, number: int, *, at: float) -> None:
        """Undo what came after an update number: its companion in another table never landed."""
        current = self.snapshot
        if current is None or current.number <= number:
            return
        *_, (undone, _) = self._history(current).since(number)
        if undone == 0:
            before = replace(current, files=(), record=None)
        else:
            before = self._snapshot_of(open_version(self.logs, self.folder, undone - 1))
            before = replace(before, files=tuple(self._described(file, current) for file in before.files))
        self._publish(restored(current, before, number, writer=self._writer(), at=at))
        self._forget_recent(lambda snapshot: snapshot.number > number)

    def fence(self, epoch: int, *, at: float) -> None:
        """Keep everybody with an older right to write from committing what they computed before this."""
        while (current := self.snapshot) is not None and self._epoch < epoch:
            # Another commit may come before it, as long as it is not there.
            with suppress(ForeignCommitError):
                self._publish(fenced(current, writer=Writer(epoch=epoch), at=at))

    def keep_house(self, retention: float, *, at: float) -> None:
        """Take note of the last commit; every so many: a checkpoint, so that opening is quick, and a sweep."""
        version = self._known().version
        if version - self._checkpointed >= max(_CHECKPOINT_EVERY, self._log_length // _ENTRIES_PER_COMMIT):
            self.checkpoint()
            self._log_length = prune_log(self.disk, self.logs, self.folder, retention=retention, at=at)
        if version - self._swept >= _SWEEP_EVERY or at - self._swept_at >= retention:
            self.vacuum(retention, at=at)

    def checkpoint(self) -> None:
        """Write a checkpoint, so that opening the table does not replay the whole log."""
        current = self._known()
        self._require_right()
        with self._blaming_disk():
            write_checkpoint(self.logs, current)
        self._checkpointed = current.version

    def vacuum(self, retention: float, *, at: float) -> None:
        """Delete files that no version younger than the retention (seconds) refers to."""
        current = self._known()
        self._require_right()
        with self._blaming_disk():
            sweep(self.logs, current, retention=retention, at=at)
        self._swept, self._swept_at = current.version, at
        self._forget_recent(lambda snapshot: not snapshot.is_whole())

    def _publish(self, transition: Transition) -> Snapshot:
        """Commit, and know for certain whether that was done: whatever goes wrong, the log is asked."""
        entry, after = transition.entry, transition.after
        if after.version == 0:
            with self._blaming_disk():
                prepare_beginning(self.disk, self.folder, entry.writer.epoch)
        self._require_right()
        try:
            publish(self.disk, self.folder, after.version, entry)
        except BaseException as error:
            self._is_unknown = True
            if not isinstance(error, Exception):
                raise
            return self._settled(transition, error)
        self._epoch = entry.writer.epoch
        self._log_length += 1
        self._install(after)
        return after

    def _settled(self, transition: Transition, error: Exception) -> Snapshot:
        """What has become of a commit that something went wrong with."""
        current, before = self.snapshot, transition.after.version - 1
        nonce = transition.entry.writer.nonce
        if current is not None and self._history(current).made_by(nonce, after=before):
            return current
        failed = f"{transition.what} of '{self.name}' could not be committed"
        if isinstance(error, FileNotFoundError):
            # Who has taken over removes what a first entry is written beside.
            self._require_right()
        if isinstance(error, FileExistsError):
            self._require_right()
            raise ForeignCommitError(f"{failed}: another process has committed to it meanwhile.") from error
        if isinstance(error, OSError):
            raise DiskError(f"{failed}: {error}") from error
        raise StorageError(f"{failed}: {error}") from error

    def _landed_before(self, current: Snapshot, record: UpdateRecord) -> Snapshot:
        """The table, if a commit that is to be made is in it, and not another of the same number."""
        landed = self.landed(record.number)
        if landed is not None and landed.writer.nonce == record.writer.nonce:
            return current
        self._require_right()
        raise ForeignCommitError(
            f"Update {record.number} of '{self.name}' could not be committed: it is at update {current.number} "
            "already, and that one is another.",
        )

    def _require_right(self) -> None:
        self.authority.require()
        if self._epoch > self.authority.epoch:
            raise LeaseLostError(
                f"Another process writes '{self.name}': its right to do so has the number {self._epoch}, "
                f"and that of this one is {self.authority.epoch}.",
                way_out="Let one process alone run the warehouse.",
            )

    def _look_again(self) -> None:
        """Read the log anew. What it says is forced to disk first: from now on it is believed."""
        with self._looking_again:
            if not self._is_unknown:
                return
            current = self.open()
            if current is not None:
                with self._blaming_disk():
                    newest = deltalog.commit_path(self.folder, current.version)
                    sync_files(self.disk, [newest], under=self.folder)
                    self.disk.sync(self.folder.parent)
            self._is_unknown = False

    def _writer(self) -> Writer:
        return Writer(epoch=self.authority.epoch)

    def _described(self, file: DataFile, current: Snapshot) -> DataFile:
        """A file of an earlier version; with its statistics, where it is to come into the table again."""
        if any(there.path == file.path for there in current.files):
            return file
        return DataFile.describe(
            self.disk,
            self.encoding,
            self.folder,
            file.path,
            partition_values=file.partition_values,
            time_column=self.time_column,
        )

    def _install(self, snapshot: Snapshot) -> None:
        revised = snapshot.record is not None and snapshot.record.revised_from is not None
        # After a revision, earlier versions lack rows that by their time stamps belong into them.
        earlier = () if revised else self._recent[1 - _RECENT_SNAPSHOTS :]
        self._current = snapshot
        self._recent = (*earlier, snapshot)

    def _forget_recent(self, is_gone: Callable[[Snapshot], bool]) -> None:
        self._recent = tuple(snapshot for snapshot in self._recent if not is_gone(snapshot))

    def _known(self) -> Snapshot:
        snapshot = self.snapshot
        assert snapshot is not None, "a table is changed before it was created"
        return snapshot

    def _history(self, snapshot: Snapshot) -> History:
        return History(self.disk, self.folder, snapshot.version)

    @contextmanager
    def _blaming_disk(self) -> Iterator[None]:
        """What the file system refuses is not the table's fault."""
        try:
            yield
        except OSError as error:
            raise DiskError(f"The table '{self.name}' in {self.folder} cannot be read or written: {error}") from error

    def _snapshot_of(self, opened: OpenLog, record: UpdateRecord | None = None) -> Snapshot:
        return Snapshot(
            disk=self.disk,
            encoding=self.encoding,
            folder=self.folder,
            version=opened.version,
            schema=opened.schema(),
            declaration=opened.declaration(),
            files=opened.files(self.time_column),
            record=record or History(self.disk, self.folder, opened.version).last(),
        )
