"""Rebuilds in virtual time: which part of the work an update does, and what is to be computed anew after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from freshtide.core.commands import StartUpdate
from freshtide.core.pieces import FILES_AT_ONCE, Pace, fitting
from freshtide.simulation.tables import RunningTable
from freshtide.simulation.workload import Rebuild, SimulatedTable


class _Files:
    """The files of a rebuild, of which each part takes as many as it would in a run."""

    def __init__(self, rebuild: Rebuild) -> None:
        self._weights = rebuild.weights
        self._per_byte = rebuild.seconds / sum(rebuild.weights)
        self._taken, self._pace = 0, Pace()

    def next_part(self, aim: float, alpha: float) -> float:
        """The work of the part that is started now and may take so long; without end where no file is left after it."""
        most = self._weights[self._taken : self._taken + FILES_AT_ONCE]
        part = most[: fitting(most, self._pace.room(aim))]
        self._taken += len(part)
        work = self._per_byte * sum(part)
        self._pace = self._pace.after(sum(part), alpha + work, aim=aim)
        return work if self._taken < len(self._weights) else inf


class Rebuilding:
    """How far the rebuilds of a workload have come."""

    def __init__(self, rebuilds: Iterable[Rebuild], tables: Iterable[SimulatedTable]) -> None:
        self._asked = {rebuild.table: rebuild for rebuild in rebuilds}
        self._left = {rebuild.table: rebuild.seconds for rebuild in self._asked.values()}
        self._dependents = {
            table.name: [other.name for other in tables if table.name in other.sources] for table in tables
        }
        self._of_files = {rebuild.table: _Files(rebuild) for rebuild in self._asked.values() if rebuild.weights}
        self._running: dict[str, float] = {}
        """The work of the parts that run, and of views that are computed anew."""
        self._revised: set[str] = set()
        """Views whose sources have been computed anew."""
        self.parts: dict[str, int] = {}
        self.done: dict[str, float] = {}
        """When each table had been computed anew."""

    def work(self, command: StartUpdate, table: RunningTable) -> float:
        """Seconds that an update takes beyond what an ordinary one does; its end is told what it comes to."""
        name, ending = command.table, table.ending
        ending.revised = ending.unfinished = False
        self._running.pop(name, None)
        if command.rebuild and name in self._left:
            left = self._left[name]
            work = self._part(self._asked[name], left, command.within, table.alpha)
            ending.unfinished = work < left
            ending.revised = not ending.unfinished
        elif name in self._revised:
            work = self._cost_of(name)
            ending.revised = True
        else:
            return 0.0
        self._running[name] = work
        return work

    def _part(self, rebuild: Rebuild, left: float, within: float | None, alpha: float) -> float:
        """The work of the next part."""
        if rebuild.longest is None:
            return left
        aim = min(rebuild.longest, within or rebuild.longest)
        if rebuild.weights:
            return min(left, self._of_files[rebuild.table].next_part(aim, alpha))
        # A part that is as long as its fixed cost would get nowhere.
        return min(left, max(aim - alpha, alpha))

    def ended(self, table: RunningTable, now: float) -> None:
        """An update has ended."""
        name, ending = table.ending.table, table.ending
        work = self._running.pop(name, None)
        if work is None:
            return
        self.parts[name] = self.parts.get(name, 0) + 1
        if ending.unfinished:
            self._left[name] -= work
            return
        self._left.pop(name, None)
        self._revised.discard(name)
        self._revised.update(self._dependents[name])
        self.done[name] = now

    def _cost_of(self, view: str) -> float:
        known: list[Mapping[str, float]] = [rebuild.dependents for rebuild in self._asked.values()]
        return max((costs.get(view, 0.0) for costs in known), default=0.0)
