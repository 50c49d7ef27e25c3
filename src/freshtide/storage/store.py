"""The folder that holds a warehouse's tables."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from freshtide.storage.authority import Authority, Unrestricted
from freshtide.storage.deltalog import log_folder
from freshtide.storage.logs import DeltaLogs
from freshtide.storage.tables import StoredTable
from freshtide.world import Disk, OsDisk, names_in


class Store:
    """Tables by name, each opened once and kept open: a handle is cheap to keep and dear to get."""

    def __init__(
        self,
        root: Path,
        *,
        time_columns: Mapping[str, str | None] | None = None,
        disk: Disk | None = None,
        logs: DeltaLogs | None = None,
    ) -> None:
        """`time_columns` are known beforehand: then a table has its own whoever asks for it first."""
        self.root = root
        self.disk = disk or OsDisk()
        self._logs = logs
        self._time_columns = time_columns or {}
        self._tables: dict[str, StoredTable] = {}
        self._authority: Authority = Unrestricted()
        self._lock = threading.Lock()

    @property
    def authority(self) -> Authority:
        """Who is asked before a table is written, whichever it is."""
        return self._authority

    @authority.setter
    def authority(self, authority: Authority) -> None:
        with self._lock:
            self._authority = authority
            for table in self._tables.values():
                table.authority = authority

    def fence(self, *, at: float) -> None:
        """Keep whoever wrote here before, and may wake up, from committing to any table that there is."""
        for name in sorted(names_in(self.disk, self.root)):
            if self.disk.exists(log_folder(self.root / name)):
                table = self.table(name)
                table.recover()
                table.fence(self._authority.epoch, at=at)

    def table(self, name: str, *, time_column: str | None = None) -> StoredTable:
        with self._lock:
            if name not in self._tables:
                known = time_column or self._time_columns.get(name)
                table = StoredTable(self.root / name, time_column=known, disk=self.disk, logs=self._logs)
                table.authority = self._authority
                table.open()
                self._tables[name] = table
            return self._tables[name]
