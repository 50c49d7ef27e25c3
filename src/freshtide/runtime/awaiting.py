"""Loads that wait for a table that their flow reads: they are tried again when other updates have brought it."""

from __future__ import annotations

import logging

from freshtide.catalog import Catalog
from freshtide.core.events import DataArrived, RebuildRequested
from freshtide.core.graph import TableGraph
from freshtide.runs import pending_announcements
from freshtide.runtime.execution import Computer

_logger = logging.getLogger(__name__)


class AwaitedTables:
    """Which loads wait. It is nobody's fault, so it is no failure; it may be asked from several threads."""

    def __init__(self, computer: Computer, *, graph: TableGraph, catalog: Catalog, waiting: dict[str, bool]) -> None:
        """`waiting` are tables, and whether it is a rebuild that waits."""
        self._computer = computer
        self._graph = graph
        self._catalog = catalog
        self._waiting = waiting

    def wait(self, table: str, reason: str, *, rebuild: bool) -> list[DataArrived | RebuildRequested]:
        """Let a load wait; its files are announced anew where what it waits for has come by now."""
        if table not in self._waiting:
            _logger.warning("%s", reason)
        self._waiting[table] = rebuild or self._waiting.get(table, False)
        return self.released()

    def released(self) -> list[DataArrived | RebuildRequested]:
        """The events that tell of what waits for loads that need not wait any longer."""
        found: list[DataArrived | RebuildRequested] = []
        declared = [table for table in tuple(self._waiting) if table in self._graph]
        for table in [table for table in declared if self._computer.awaits(table) is None]:
            unit = self._graph.units.of(table)
            if self._waiting.pop(table, False):
                found.append(RebuildRequested(table=unit))
            found += pending_announcements(unit, [self._graph[table]], self._catalog)
        return found
