"""Loads that wait for a table that their flow reads: they are tried again when other updates have brought it."""

from __future__ import annotations

import logging

from freshtide.catalog import Catalog
from freshtide.core.events import DataArrived
from freshtide.core.graph import TableGraph
from freshtide.runtime.arrivals import pending_announcements
from freshtide.spark import UpdateExecutor

_logger = logging.getLogger(__name__)


class AwaitedTables:
    """Which loads wait. It is nobody's fault, so it is no failure; it may be asked from several threads."""

    def __init__(self, executor: UpdateExecutor, *, graph: TableGraph, catalog: Catalog) -> None:
        self._executor = executor
        self._graph = graph
        self._catalog = catalog
        self._waiting: set[str] = set()

    def wait(self, table: str, reason: str) -> list[DataArrived]:
        """Let a load wait; its files are announced anew where what it waits for has come by now."""
        if table not in self._waiting:
            _logger.warning("%s", reason)
        self._waiting.add(table)
        return self.released()

    def released(self) -> list[DataArrived]:
        """The events that tell of what waits for loads that need not wait any longer."""
        ready = [table for table in tuple(self._waiting) if self._executor.awaits(table) is None]
        self._waiting.difference_update(ready)
        return [
            event
            for table in ready
            for event in pending_announcements(self._graph.units.of(table), [self._graph[table]], self._catalog)
        ]
