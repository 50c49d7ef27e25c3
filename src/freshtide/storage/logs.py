"""What is asked of whoever understands Delta logs: to open a version, and to write a checkpoint of it.

This package writes entries itself (`entries.py`), and lists and mends them (`deltalog.py`). To replay them is left to a
library.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pyarrow as pa

from freshtide.storage.declarations import Declaration
from freshtide.storage.errors import StorageError
from freshtide.storage.snapshots import DataFile


class UnreadableLogError(StorageError):
    """A log that cannot be replayed as it is. What the system refuses is an OSError."""


class OpenLog(Protocol):
    """A version of a table, as its log tells it."""

    @property
    def version(self) -> int: ...

    def schema(self) -> pa.Schema: ...

    def declaration(self) -> Declaration: ...

    def files(self, time_column: str | None) -> tuple[DataFile, ...]:
        """The files of the table, with the bounds of its time column and without their statistics, in any order."""
        ...

    def file_count(self) -> int: ...

    def removed(self, *, hours: int) -> list[str]:
        """Relative paths of files that left the table at least so long ago, and are on disk still."""
        ...

    def write_checkpoint(self) -> None:
        """Sum up the log in a file, and name that as the newest; nothing is forced to disk."""
        ...


class DeltaLogs(Protocol):
    """The logs of tables, by the folders of the tables."""

    def open(self, folder: Path, version: int | None = None) -> OpenLog:
        """The newest version, or this one; UnreadableLogError, or an OSError where the system refuses."""
        ...
