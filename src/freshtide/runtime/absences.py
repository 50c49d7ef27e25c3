"""Files that tables wait for: they are away, and nobody tells when they are back."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.world import Disk, OsDisk


class Absences:
    """What each table waits for: noted by its updates, looked for by the thread that looks for files."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or OsDisk()
        self._lock = threading.Lock()
        self._awaited: dict[str, str] = {}
        """By table the path of the first file that is away: as long as it is, nothing can go on."""

    def note(self, table: str, files: Iterable[Arrival]) -> None:
        """Remember what a table has to wait for, if anything, of the files that it is to load next."""
        away = next((file.position for file in files if file.state is ArrivalState.AWAY), None)
        with self._lock:
            if away is None:
                self._awaited.pop(table, None)
            else:
                self._awaited[table] = away

    def ended(self) -> list[str]:
        """Tables that need not wait any longer; whether there is more to wait for shows when they go on."""
        with self._lock:
            return [table for table, path in self._awaited.items() if self._is_there(path)]

    def forget(self, tables: Iterable[str]) -> None:
        """These tables have been told to go on."""
        with self._lock:
            for table in tables:
                self._awaited.pop(table, None)

    def _is_there(self, path: str) -> bool:
        try:
            return self._disk.exists(path)
        except OSError:
            return False
