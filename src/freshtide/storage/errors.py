"""What can go wrong with a table on disk."""

from __future__ import annotations

from freshtide.core.errors import FreshtideError, SurroundingsError


class StorageError(FreshtideError):
    """A table on disk that cannot be read or written as asked."""


class ForeignCommitError(StorageError):
    """Another process has committed to a table meanwhile: what was to be committed was computed from an older state."""


class DiskError(SurroundingsError):
    """The file system refuses: it is full, read-only, broken, or there are too many open files."""


class UnstorableError(StorageError):
    """A value that no table can hold. Of an update that fails the message is told: it has the way out in it."""

    def __init__(self, message: str) -> None:
        way_out = "Let the query leave such rows out, or give them another value (CASE WHEN ... END)."
        super().__init__(f"{message} {way_out}")
