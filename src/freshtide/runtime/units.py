"""One update of a unit, on the thread of a track: of a table, or of all tables of an update group."""

from __future__ import annotations

from dataclasses import replace

from freshtide.catalog import Catalog
from freshtide.core.commands import StartUpdate
from freshtide.core.errors import LeaseLostError, SurroundingsError
from freshtide.core.events import DataArrived, Event, UpdateFailed, UpdateFinished
from freshtide.core.graph import TableGraph
from freshtide.core.staleness import trailing_edge
from freshtide.runtime.execution import Computer, pool_of
from freshtide.runtime.memory import UpdateMemory
from freshtide.runtime.watching import Surroundings
from freshtide.runtime.worker import UpdateWorker
from freshtide.spark import SharedScans
from freshtide.world import Clock


class UnitWorker:
    """Carries out commands on units.

    The tables of a group are updated one after another from one scan of what they read, each in a commit of its own.
    When one fails, those before it have landed: the next try finds them there and goes on.
    """

    def __init__(
        self,
        worker: UpdateWorker,
        computer: Computer,
        *,
        graph: TableGraph,
        catalog: Catalog,
        clock: Clock,
        surroundings: Surroundings,
        memory: UpdateMemory,
    ) -> None:
        self._surroundings = surroundings
        self._worker = worker
        self._computer = computer
        self._graph = graph
        self._catalog = catalog
        self._clock = clock
        self._revised = memory.revised

    def book_stream(self, table: str) -> None:
        """Write down what waits for an update table, for those who look on."""
        try:
            self._worker.waiting_rows.book(table)
        except SurroundingsError as error:
            # The rows are here, and the next ones are written down with them.
            self._surroundings.suspect(error)

    def carry_out(self, command: StartUpdate) -> list[Event]:
        """Run the update; whatever goes wrong becomes an event."""
        if not self._graph.units.is_group(command.table):
            return self._worker.carry_out(command)
        try:
            return self._update_group(command)
        except LeaseLostError:
            raise
        except Exception as error:
            return [self._worker.failed(command, error)]

    def _update_group(self, command: StartUpdate) -> list[Event]:
        group, pool = command.table, pool_of(command.track)
        began = self._clock.steady()
        left_over: list[Event] = []
        with self._computer.together(self._graph.units[group], pool=pool, rebuild=command.rebuild) as scans:
            for table in self._graph.units[group]:
                for event in self._update(table, command, scans):
                    match event:
                        case UpdateFailed(reason=reason):
                            return [replace(event, table=group, reason=f"'{table}': {reason}")]
                        case UpdateFinished(revised=True):
                            self._revised.add(group)
                        case DataArrived():
                            left_over.append(event)
        return [self._finished(command, self._clock.steady() - began), *left_over]

    def _update(self, table: str, command: StartUpdate, scans: SharedScans) -> list[Event]:
        """What came of the update of one table; nothing where it was there already."""
        own = replace(command, table=table, within=self._share_of(command))
        # What has landed may not have been booked: a table that is there must also count as being there.
        if self._worker.catch_up(self._graph[table], self._catalog.tables.get(table)):
            self._revised.add(command.table)
        if not self._graph[table].is_base:
            # A table that joined the group further on than the others does not go back to them.
            own.upto = max(command.upto, self._catalog.tables.get(table).freshness or command.upto)
            if not own.rebuild and self._computer.is_there(table, own.upto, pool=pool_of(own.track)):
                return []
        return self._worker.carry_out(own, scans)

    def _share_of(self, command: StartUpdate) -> float | None:
        """How long each table of a group may take: they go one after another."""
        return None if command.within is None else command.within / len(self._graph.units[command.table])

    def _finished(self, command: StartUpdate, seconds: float) -> UpdateFinished:
        """The group is as fresh as the least fresh of its tables."""
        group = command.table
        rows = [self._catalog.tables.get(table) for table in self._graph.units[group]]
        revised = group in self._revised
        self._revised.discard(group)
        return UpdateFinished(
            table=group,
            track=command.track,
            freshness=trailing_edge(row.freshness for row in rows),
            safe=trailing_edge(row.safe for row in rows),
            seconds=seconds,
            revised=revised,
        )
