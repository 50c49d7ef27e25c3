"""The folder that holds a warehouse's tables."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from freshtide.storage.authority import Authority, Unrestricted
from freshtide.storage.deltalog import log_folder
from freshtide.storage.encoding import RowEncoding
from freshtide.storage.entries import bar_beginnings
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
        encoding: RowEncoding | None = None,
    ) -> None:
        """`time_columns` are known beforehand: then a table has its own whoever asks for it first."""
        self.root = root
        self.disk = disk or OsDisk()
        self._logs = logs
        self._encoding = encoding
        self._time_columns = dict(time_columns or {})
        self._tables: dict[str, StoredTable] = {}
        self._authority: Authority = Unrestricted()
        self._lock = threading.Lock()

    def follow(self, time_columns: Mapping[str, str | None]) -> None:
        """Know the time columns of these tables from now on, also of those that were opened when nobody knew."""
        with self._lock:
            self._time_columns.update(time_columns)
            for name, column in time_columns.items():
                if name in self._tables:
                    self._tables[name].time_column = column

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
        """Keep whoever wrote here before, and may wake up, from committing to any table, be it there or not."""
        bar_beginnings(self.disk, self.root, before=self._authority.epoch)
        for name in sorted(names_in(self.disk, self.root)):
            if self.disk.exists(log_folder(self.root / name)):
                self.recovered(name).fence(self._authority.epoch, at=at)

    def table(self, name: str, *, time_column: str | None = None) -> StoredTable:
        with self._lock:
            if name not in self._tables:
                table = self._new(name, time_column)
                table.open()
                self._tables[name] = table
            return self._tables[name]

    def recovered(self, name: str, *, time_column: str | None = None) -> StoredTable:
        """The table, mended and read anew. Only for the process that runs the warehouse."""
        with self._lock:
            table = self._tables.get(name) or self._new(name, time_column)
            table.recover()
            return self._tables.setdefault(name, table)

    def _new(self, name: str, time_column: str | None) -> StoredTable:
        table = StoredTable(
            self.root / name,
            time_column=time_column or self._time_columns.get(name),
            disk=self.disk,
            logs=self._logs,
            encoding=self._encoding,
        )
        table.authority = self._authority
        return table
