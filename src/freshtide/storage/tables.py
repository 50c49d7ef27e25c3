"""One Delta table and the only way to change it: a compare-and-set on its update number."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, PostCommitHookProperties, Schema, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import create_table_with_add_actions

from freshtide.core.errors import FreshtideError
from freshtide.storage import deltalog, parquet
from freshtide.storage.actions import added, data_files, removed
from freshtide.storage.authority import Authority, Unrestricted
from freshtide.storage.durability import sync_files
from freshtide.storage.records import UpdateRecord
from freshtide.storage.schemas import nullable
from freshtide.storage.snapshots import DataFile, Snapshot

_APPLICATION = "freshtide"
_RECENT_SNAPSHOTS = 64
_CHECKPOINT_EVERY = 32
_VACUUM_EVERY = 256
_UNREADABLE_FEATURES = ("delta.enableDeletionVectors", "delta.columnMapping.mode")
# A failing checkpoint hook raises although the commit has landed, so checkpoints are written apart.
_NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


class StorageError(FreshtideError):
    """A table on disk that cannot be read or written as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one update does to a table."""

    record: UpdateRecord
    at: float
    """The moment of the commit."""
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    add: tuple[DataFile, ...] = ()
    remove: tuple[DataFile, ...] = ()
    replace_all: bool = False
    """Whether the added files are the whole new content, under a schema that may be another one."""


class StoredTable:
    """A Delta table with one writer, and readers that pin snapshots."""

    def __init__(self, folder: Path, *, time_column: str | None) -> None:
        self.folder = folder
        self.name = folder.name
        self.time_column = time_column
        self.authority: Authority = Unrestricted()
        self._handle: DeltaTable | None = None
        self._is_behind = False
        """Whether the handle has still to take note of our own last commit."""
        self._current: Snapshot | None = None
        self._recent: deque[Snapshot] = deque(maxlen=_RECENT_SNAPSHOTS)
        self._checkpointed = self._vacuumed = 0

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest version; None while the table has never been written."""
        return self._current

    def recover(self) -> Snapshot | None:
        """Mend what a crash may have torn, then read the log. Only for the process that runs the warehouse."""
        parquet.discard_staged(self.folder)
        deltalog.drop_torn_tail(self.folder)
        return self.open()

    def open(self) -> Snapshot | None:
        """Read the log as far as it is whole; all that is ever changed on disk is an unreadable checkpoint."""
        self._is_behind = False
        if not deltalog.exists(self.folder):
            self._handle = self._current = None
            return None
        try:
            self._handle = DeltaTable(self.folder)
        except (DeltaError, OSError):
            deltalog.drop_checkpoints(self.folder)
            version = deltalog.newest_whole(self.folder)
            if version is None:
                self._handle = self._current = None
                return None
            self._handle = self._reopened(version)
        self._refuse_foreign_features(self._handle)
        self._install(self._snapshot_of(self._handle))
        # Commits since the last checkpoint are not known here; a little early does no harm.
        self._checkpointed = self._known().version - self._known().version % _CHECKPOINT_EVERY
        self._vacuumed = self._known().version - self._known().version % _VACUUM_EVERY
        return self._current

    def records(self, *, after: int = -1) -> Iterator[tuple[int, UpdateRecord]]:
        """(version, record) of the updates committed after a version, oldest first."""
        return deltalog.records(self.folder, after=after)

    def revised_since(self, number: int) -> int | None:
        """From which time stamp on rows have been revised by updates after a number; None: none has been."""
        records = self.records_since(number)
        return min((record.revised_from for record in records if record.revised_from is not None), default=None)

    def records_since(self, number: int) -> Iterator[UpdateRecord]:
        """The updates after a number, newest first."""
        snapshot = self._current
        if snapshot is not None and snapshot.number > number:
            yield from deltalog.records_after(self.folder, snapshot.version, number)

    def after(self, number: int) -> Snapshot | None:
        """The table as it was after the update of a number; None where no version of it is left whole."""
        versions = {record.number: (version, record) for version, record in self.records()}
        if number not in versions:
            return None
        version, record = versions[number]
        snapshot = self._snapshot_of(self._reopened(version), record)
        return snapshot if all((self.folder / file.path).exists() for file in snapshot.files) else None

    def as_of(self, freshness: int) -> Snapshot | None:
        """A version of exactly this freshness, where it is still at hand."""
        for snapshot in reversed(self._recent):
            if snapshot.freshness == freshness:
                return snapshot
        return None

    def write(self, rows: pa.Table, *, number: int, partition_by: tuple[str, ...] = ()) -> list[DataFile]:
        """Write rows as Parquet, ready to be committed."""
        return parquet.write_arrow(
            self.folder, rows, number=number, partition_by=partition_by, time_column=self.time_column
        )

    def write_part(self, rows: pa.Table, *, number: int, partition_values: Mapping[str, str | None]) -> DataFile:
        """Write rows of one partition as one durable file, ready to be committed."""
        file = parquet.write_part(
            self.folder,
            rows,
            number=number,
            partition_values=partition_values,
            time_column=self.time_column,
        )
        sync_files([self.folder / file.path])
        return file

    def discard(self, files: Iterable[DataFile]) -> None:
        """Delete files that were written and will not be committed."""
        for file in files:
            (self.folder / file.path).unlink(missing_ok=True)

    def staging(self, number: int) -> Path:
        return parquet.staging_folder(self.folder, number)

    def adopt(self, staging: Path, *, number: int, partition_by: tuple[str, ...] = ()) -> list[DataFile]:
        """Take over the Parquet files that Spark wrote into a staging folder, ready to be committed."""
        return parquet.adopt_staged(
            self.folder, staging, number=number, partition_by=partition_by, time_column=self.time_column
        )

    def commit(self, change: Change) -> Snapshot:
        """Make the change the next version, unless an update of this number has landed already."""
        number = change.record.number
        if self._landed(number):
            return self._known()
        schema = Schema.from_arrow(nullable(change.schema))
        self._prepare_schema(change, schema)
        try:
            self._send(change, schema)
        except DeltaError as error:
            # The commit may have landed before the error: the log knows.
            self.open()
            if not self._landed(number):
                raise StorageError(f"Update {number} of '{self.name}' could not be committed: {error}") from error
            return self._known()
        return self._advance(change)

    def rewrite(self, *, add: tuple[DataFile, ...], remove: tuple[DataFile, ...], at: float) -> Snapshot:
        """Replace files by others with the same rows; the table's content and number stay."""
        handle, current = self._opened(), self._known()
        handle.create_write_transaction(
            [*removed(remove, at, data_change=False), *added(add, data_change=False)],
            "append",
            handle.schema(),
            list(current.partition_by),
            commit_properties=CommitProperties(
                custom_metadata={deltalog.METADATA_KEY: {"kind": "compaction"}},
                max_commit_retries=0,
                app_transactions=[Transaction(_APPLICATION, current.number)],
            ),
            post_commithook_properties=_NO_HOOKS,
        )
        return self._landed_snapshot(add, remove, current.record)

    def roll_back(self, number: int, *, at: float) -> None:
        """Undo what came after an update number: its companion in another table never landed."""
        if self._current is None or not self._landed(number + 1):
            return
        handle, current = self._opened(), self._current
        properties = CommitProperties(
            custom_metadata={deltalog.METADATA_KEY: {"kind": "rollback", "back_to": number}},
            max_commit_retries=0,
            app_transactions=[Transaction(_APPLICATION, number)],
        )
        undone = min(version for version, record in self.records() if record.number > number)
        if undone > 0:
            handle.restore(undone - 1, commit_properties=properties, post_commithook_properties=_NO_HOOKS)
        if handle.version() == current.version:
            # There was no table before, or no row came and went: all that is left to undo is the number.
            gone = current.files if undone == 0 else ()
            handle.create_write_transaction(
                [*removed(gone, at)],
                "append",
                handle.schema(),
                list(current.partition_by),
                commit_properties=properties,
                post_commithook_properties=_NO_HOOKS,
            )
        self._handle = self._reopened()
        self._sync_log(self._handle.version())
        self._forget_recent(lambda snapshot: snapshot.number > number)
        self._install(self._snapshot_of(self._handle))

    def keep_house(self, retention: float) -> None:
        """Take note of the last commit; every so many: a checkpoint, so that opening is quick, and a vacuum."""
        version = self._opened().version()
        if version - self._checkpointed >= _CHECKPOINT_EVERY:
            self.checkpoint()
        if version - self._vacuumed >= _VACUUM_EVERY:
            self.vacuum(retention)

    def checkpoint(self) -> None:
        """Write a checkpoint, so that opening the table does not replay the whole log."""
        handle = self._opened()
        handle.create_checkpoint()
        self._checkpointed = handle.version()

    def vacuum(self, retention: float) -> None:
        """Delete files that no version younger than the retention (seconds) refers to."""
        hours = max(1, round(retention / 3_600))
        handle = self._opened()
        handle.vacuum(
            hours,
            dry_run=False,
            enforce_retention_duration=False,
            post_commithook_properties=_NO_HOOKS,
        )
        handle.update_incremental()
        self._vacuumed = handle.version()
        self._forget_recent(lambda snapshot: any(not (self.folder / file.path).exists() for file in snapshot.files))

    def _landed(self, number: int) -> bool:
        if self._handle is None:
            return False
        landed = self._opened().transaction_version(_APPLICATION)
        return landed is not None and landed >= number

    def require_fitting(self, change: Change) -> None:
        """Refuse a change whose columns do not fit those of the table."""
        current = self._current
        if current is None or change.replace_all:
            return
        known = {field.name: field for field in current.schema}
        for field in nullable(change.schema):
            old = known.get(field.name)
            if old is not None and old.type != field.type:
                raise StorageError(
                    f"Column '{field.name}' of '{self.name}' is {old.type} in the table and {field.type} now.",
                    way_out=f"Run `freshtide backfill {self.name}` to rebuild the table with the new type.",
                )

    def _prepare_schema(self, change: Change, schema: Schema) -> None:
        self.require_fitting(change)
        current = self._current
        if current is None or change.replace_all:
            return
        added = [field for field in schema.fields if field.name not in current.schema.names]
        if added:
            self._add_columns(added)

    def _add_columns(self, fields: list[Field]) -> None:
        handle, current = self._opened(), self._known()
        handle.alter.add_columns(fields, post_commithook_properties=_NO_HOOKS)
        handle.update_incremental()
        self._sync_log(handle.version())
        self._install(self._snapshot_of(handle, current.record))

    def _send(self, change: Change, schema: Schema) -> None:
        properties = CommitProperties(
            custom_metadata={deltalog.METADATA_KEY: change.record.to_metadata()},
            max_commit_retries=0,
            app_transactions=[Transaction(_APPLICATION, change.record.number)],
        )
        if self._handle is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            create_table_with_add_actions(
                str(self.folder),
                schema,
                [*added(change.add)],
                partition_by=list(change.partition_by),
                name=self.name,
                commit_properties=properties,
                post_commithook_properties=_NO_HOOKS,
            )
            return
        if change.replace_all and change.partition_by != self._known().partition_by:
            self._repartition(change, schema, properties)
            return
        gone = () if change.replace_all else removed(change.remove, change.at)
        handle = self._opened()
        handle.create_write_transaction(
            [*gone, *added(change.add)],
            "overwrite" if change.replace_all else "append",
            schema if change.replace_all else handle.schema(),
            list(change.partition_by),
            commit_properties=properties,
            post_commithook_properties=_NO_HOOKS,
        )

    def _repartition(self, change: Change, schema: Schema, properties: CommitProperties) -> None:
        """Replace the whole table, partition columns included, which a write to it would leave as they are."""
        handle = self._opened()
        version = handle.version()
        handle.update_incremental()
        if handle.version() != version:
            raise DeltaError(f"version {version} is not the newest any more")
        create_table_with_add_actions(
            str(self.folder),
            schema,
            [*added(change.add)],
            mode="overwrite",
            partition_by=list(change.partition_by),
            name=self.name,
            commit_properties=properties,
            post_commithook_properties=_NO_HOOKS,
        )

    def _advance(self, change: Change) -> Snapshot:
        if self._current is None or change.replace_all:
            self._handle = self._reopened()
            self._sync_log(self._handle.version())
            self._install(self._snapshot_of(self._handle, change.record))
            return self._known()
        return self._landed_snapshot(change.add, change.remove, change.record)

    def _landed_snapshot(
        self, add: tuple[DataFile, ...], remove: tuple[DataFile, ...], record: UpdateRecord | None
    ) -> Snapshot:
        """The snapshot after our own commit: the old one with the change applied, no log replay needed."""
        current = self._known()
        # A commit without retries is the next version or none.
        version = self._opened().version() + 1
        self._is_behind = True
        self._sync_log(version)
        gone = {file.path for file in remove}
        kept = tuple(file for file in current.files if file.path not in gone) if gone else current.files
        self._install(
            Snapshot(
                folder=self.folder,
                version=version,
                schema=current.schema,
                spark_schema=current.spark_schema,
                partition_by=current.partition_by,
                files=kept + add,
                record=record,
            )
        )
        return self._known()

    def _sync_log(self, version: int) -> None:
        sync_files([deltalog.commit_path(self.folder, version)])

    def _install(self, snapshot: Snapshot) -> None:
        if snapshot.record is not None and snapshot.record.revised_from is not None:
            # Earlier versions lack rows that by their time stamps belong into them.
            self._recent.clear()
        self._current = snapshot
        self._recent.append(snapshot)

    def _forget_recent(self, is_gone: Callable[[Snapshot], bool]) -> None:
        kept = [snapshot for snapshot in self._recent if not is_gone(snapshot)]
        self._recent = deque(kept, maxlen=_RECENT_SNAPSHOTS)

    def _known(self) -> Snapshot:
        assert self._current is not None, "a table is read before it was opened"
        return self._current

    def _opened(self) -> DeltaTable:
        """The handle, caught up with our own commits: that takes as long as committing, so it waits until needed."""
        assert self._handle is not None, "a table is changed before it was created"
        if self._is_behind:
            self._handle.update_incremental()
            self._is_behind = False
        return self._handle

    def _reopened(self, version: int | None = None) -> DeltaTable:
        try:
            return DeltaTable(self.folder, version=version)
        except (DeltaError, OSError) as error:
            raise StorageError(
                f"The table '{self.name}' in {self.folder} cannot be opened: {error}",
                way_out="Restore the folder from a backup, or move it away and run `freshtide backfill`.",
            ) from error

    def _refuse_foreign_features(self, handle: DeltaTable) -> None:
        configuration = handle.metadata().configuration
        for feature in _UNREADABLE_FEATURES:
            if configuration.get(feature, "none").lower() not in {"none", "false"}:
                raise StorageError(
                    f"The table '{self.name}' uses {feature}: its Parquet files are not its content.",
                    way_out="Switch the feature off and rewrite the table with the tool that set it.",
                )

    def _snapshot_of(self, handle: DeltaTable, record: UpdateRecord | None = None) -> Snapshot:
        schema = handle.schema()
        return Snapshot(
            folder=self.folder,
            version=handle.version(),
            schema=pa.schema(schema),
            spark_schema=schema.to_json(),
            partition_by=tuple(handle.metadata().partition_columns),
            files=data_files(handle, self.time_column),
            record=record or deltalog.latest_record(self.folder, handle.version()),
        )
