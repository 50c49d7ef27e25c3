"""The content of a table at one version: a list of files, pinned, prunable by time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from freshtide.storage.declarations import Declaration
from freshtide.storage.encoding import RowEncoding
from freshtide.storage.records import UpdateRecord
from freshtide.storage.statistics import parse_time_bound
from freshtide.world import Disk

_OURS = re.compile(r"part-(\d+)-[0-9a-f]+\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A Parquet file of a table. `low` and `high` bound its time column, in microseconds."""

    path: str
    """Relative to the table's folder."""
    size: int
    rows: int
    partition_values: Mapping[str, str | None]
    modified_ms: int
    low: int | None = None
    high: int | None = None
    stats: str = field(default="", compare=False, repr=False)

    @classmethod
    def describe(
        cls,
        disk: Disk,
        encoding: RowEncoding,
        folder: Path,
        relative: str,
        *,
        partition_values: Mapping[str, str | None],
        time_column: str | None,
    ) -> DataFile:
        """Read the footer of a file that has just been written."""
        path = folder / relative
        with disk.open(path) as file:
            footer, found = encoding.footer(file, time_column), file.look()
        low, high = footer.low, footer.high
        if time_column is not None and time_column in partition_values:
            low = high = parse_time_bound(partition_values[time_column], upper=False)
        return cls(
            path=relative,
            size=found.st_size,
            rows=footer.rows,
            partition_values=partition_values,
            modified_ms=found.st_mtime_ns // 1_000_000,
            low=low,
            high=high,
            stats=footer.stats,
        )

    @property
    def number(self) -> int:
        """The update by which all rows of the file had come into the table, as its name tells; 0: it does not."""
        named = _OURS.fullmatch(self.path.rpartition("/")[2])
        return int(named[1]) if named else 0

    def may_hold(self, since: int | None, before: int | None) -> bool:
        """Whether rows stamped in [since, before) may be in the file."""
        if since is not None and self.high is not None and self.high < since:
            return False
        return not (before is not None and self.low is not None and self.low >= before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One version of a table, with the update that it is the result of."""

    disk: Disk = field(repr=False, compare=False)
    encoding: RowEncoding = field(repr=False, compare=False)
    folder: Path
    version: int
    schema: pa.Schema
    declaration: Declaration = field(repr=False)
    files: tuple[DataFile, ...]
    record: UpdateRecord | None

    @property
    def spark_schema(self) -> str:
        """The schema in Spark's JSON form."""
        return self.declaration.schema

    @property
    def partition_by(self) -> tuple[str, ...]:
        return self.declaration.partition_by

    @property
    def number(self) -> int:
        return self.record.number if self.record else 0

    @property
    def freshness(self) -> int | None:
        return self.record.freshness if self.record else None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def lost(self) -> tuple[DataFile, ...]:
        """The files that are not on disk as the log says: away, or of another size."""
        return tuple(file for file in self.files if _size(self.disk, self.folder / file.path) != file.size)

    def rows_on_disk(self) -> int:
        """The rows that can be read, as the files that are there say themselves."""
        return sum(_rows(self.disk, self.encoding, path) for path in self.paths(self.files) if self.disk.exists(path))

    def is_whole(self) -> bool:
        """Whether all its files are still there."""
        return all(self.disk.exists(path) for path in self.paths(self.files))

    def between(self, since: int | None, before: int | None) -> tuple[DataFile, ...]:
        """The files that may hold rows stamped in [since, before)."""
        return tuple(file for file in self.files if file.may_hold(since, before))

    def paths(self, files: tuple[DataFile, ...]) -> list[str]:
        return [str(self.folder / file.path) for file in files]


def _size(disk: Disk, path: Path) -> int | None:
    try:
        return disk.look(path).st_size
    except FileNotFoundError:
        return None


def _rows(disk: Disk, encoding: RowEncoding, path: str) -> int:
    try:
        with disk.open(path) as file:
            return encoding.row_count(file)
    except pa.ArrowInvalid:
        return 0  # It is there and is none.
