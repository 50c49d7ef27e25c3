"""One process at a time changes a warehouse."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import IO

from freshtide.core.errors import FreshtideError


class WarehouseBusyError(FreshtideError):
    """Another process is running the warehouse."""

    def __init__(self, holder: int) -> None:
        super().__init__(
            f"This warehouse is being run already, by process {holder}.",
            way_out="Stop that run first (Ctrl-C in its terminal), or look on with `freshtide status`.",
        )


class RunLock:
    """A lock that goes away with the process that holds it, however that ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def holder(self) -> int | None:
        """The process that runs the warehouse, if one does."""
        try:
            with self._path.open("r") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return int(file.read() or 0)
        except FileNotFoundError:
            pass
        return None

    def taken_at(self) -> float | None:
        """When the last run began, be it over or not: that is when its process wrote itself down."""
        try:
            return self._path.stat().st_mtime
        except FileNotFoundError:
            return None

    def require_free(self) -> None:
        """Raise if another process runs the warehouse: a quick look before anything costly is started."""
        holder = self.holder()
        if holder is not None:
            raise WarehouseBusyError(holder)

    def __enter__(self) -> RunLock:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = int(file.read() or 0)
            file.close()
            raise WarehouseBusyError(holder) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
