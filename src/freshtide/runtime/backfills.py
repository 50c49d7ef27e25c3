"""Following requested rebuilds until the table and everything built on it is done."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from freshtide.catalog import RequestQueue
from freshtide.core.graph import TableGraph


@dataclass(slots=True)
class _Backfill:
    request_id: int
    table: str
    left: set[str]
    """Units that are still to be rebuilt."""


class Backfills:
    """Rebuilds under way; each is reported to its request when its last table is done or has failed."""

    def __init__(self, graph: TableGraph, requests: RequestQueue) -> None:
        self._graph = graph
        self._requests = requests
        self._open: list[_Backfill] = []

    def begin(self, request_id: int, table: str, able: Collection[str]) -> None:
        """Wait for the table and its dependents, those that are able to: active ones with data.

        What is updated together with the table is rebuilt with it, so its dependents are waited for too.
        """
        units = self._graph.units
        rebuilt = (table, *units.beside(table))
        reached = {dependent for name in rebuilt for dependent in self._graph.dependents(name)}
        waiting = set(units.of_all(name for name in (*rebuilt, *reached) if name in able))
        self._open.append(_Backfill(request_id, table, waiting))

    def rebuilt(self, unit: str) -> None:
        for backfill in list(self._open):
            own = self._graph.units.of(backfill.table)
            if unit != own and own in backfill.left:
                continue  # It was revised for another reason; what is built on the table comes after it.
            backfill.left.discard(unit)
            if not backfill.left:
                self._finish(backfill, f"'{backfill.table}' has been rebuilt, and so has all that depends on it.")

    def failed(self, unit: str, reason: str) -> None:
        for backfill in list(self._open):
            if unit in backfill.left:
                self._finish(backfill, f"The rebuild of '{unit}' failed: {reason}", succeeded=False)

    def _finish(self, backfill: _Backfill, message: str, *, succeeded: bool = True) -> None:
        self._open.remove(backfill)
        self._requests.finish(backfill.request_id, message, succeeded=succeeded)
