"""Locks that go away with the process that holds them, however that ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Protocol


class ProcessLock(Protocol):
    """A lock that one process of a machine has at a time."""

    @property
    def identity(self) -> str:
        """Which lock it is: one that was thrown away and made anew is another one."""
        ...

    def acquire(self) -> bool:
        """Take it; false if another process has it."""
        ...

    def release(self) -> None: ...


class FileLock:
    """A lock on a file; if the file is deleted, a lock on the one that takes its place is another lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Lock the file that has the name at the end; false if another process has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            if _identity(os.fstat(descriptor)) == self._current():
                self._descriptor = descriptor
                return True
            os.close(descriptor)

    @property
    def identity(self) -> str:
        """Which file is locked."""
        assert self._descriptor is not None, "a lock is asked for its file before it was acquired"
        return _identity(os.fstat(self._descriptor))

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _current(self) -> str | None:
        try:
            return _identity(self._path.stat())
        except FileNotFoundError:
            return None


def _identity(found: os.stat_result) -> str:
    return f"{found.st_dev}:{found.st_ino}"
