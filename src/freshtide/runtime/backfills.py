"""Following requested rebuilds until the table and all that is built on it is done; telling what was and what not."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from freshtide.catalog import RequestQueue, TableRow
from freshtide.core.graph import TableGraph
from freshtide.requests import cancelled
from freshtide.runtime.owing import Owed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Obstacle:
    """Why a unit is not rebuilt."""

    told: str
    resume: str | None = None
    """The table that is to be resumed first; None: there is nothing to rebuild."""


@dataclass(slots=True, kw_only=True)
class _Backfill:
    """The rebuild of a table: it goes from unit to unit, except where something is in the way."""

    request_id: int
    table: str
    graph: TableGraph
    obstacles: dict[str, _Obstacle]
    done: set[str] = field(default_factory=set)

    @property
    def own(self) -> str:
        return self.graph.units.of(self.table)

    @property
    def left(self) -> set[str]:
        """Units that are still to be rebuilt."""
        return self._reached() - self.done

    def takes(self, unit: str) -> bool:
        """Whether an update of a unit is part of the rebuild: what is built on the table comes after it."""
        return unit == self.own or (self.own in self.done and unit in self._reached())

    def _reached(self, *, past_obstacles: bool = False) -> set[str]:
        """All units that the rebuild comes to; `past_obstacles`, where it would if nothing were in the way."""
        units = self.graph.units
        reached = {self.own}
        while True:
            more = {
                unit
                for unit in units
                if unit not in reached
                and (past_obstacles or unit not in self.obstacles)
                and reached.intersection(units.sources(unit))
            }
            if not more:
                return reached
            reached |= more

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out that should have been rebuilt."""
        return all(self.obstacles[unit].resume is None for unit in self._in_the_way())

    def _in_the_way(self) -> list[str]:
        wanted = self._reached(past_obstacles=True)
        return [unit for unit in self.graph.units if unit in wanted and unit in self.obstacles]

    def story(self) -> str:
        """What was rebuilt, what was not, and why."""
        rebuilt = [name for name in self._tables(self.done) if name != self.table]
        missed = [unit for unit in self.graph.units if unit in self._reached(past_obstacles=True) - self.done]
        if not rebuilt and not missed:
            return f"'{self.table}' has been rebuilt; nothing depends on it."
        if not missed:
            return f"'{self.table}' has been rebuilt, and so has all that depends on it: {_listed(rebuilt)}."
        too = f", and so {'has' if len(rebuilt) == 1 else 'have'} {_listed(rebuilt)}" if rebuilt else ""
        reasons = "; ".join(self._why(unit) for unit in missed)
        commands = ", ".join(
            f"`freshtide resume {obstacle.resume}`"
            for unit in self._in_the_way()
            if (obstacle := self.obstacles[unit]).resume is not None
        )
        way_out = f" They are rebuilt after {commands}." if commands else ""
        return f"'{self.table}' has been rebuilt{too}. Not rebuilt: {reasons}.{way_out}"

    def _why(self, unit: str) -> str:
        names = _listed(self._tables([unit]))
        if unit in self.obstacles:
            return f"{names}, which {self.obstacles[unit].told}"
        behind = self._reached(past_obstacles=True) - self.done
        waits_for = [source for source in self.graph.units.sources(unit) if source in behind]
        return f"{names}, which waits for {_listed(self._tables(waits_for))}"

    def _tables(self, units: Iterable[str]) -> list[str]:
        """The tables of some units, sources first."""
        known = set(units)
        return [table for table in self.graph if self.graph.units.of(table) in known]


class Backfills:
    """Rebuilds under way; each is reported to its request when its last table is done or has failed.

    Requests come on another thread than the ends of updates.
    """

    def __init__(self, graph: TableGraph, requests: RequestQueue, owed: Owed) -> None:
        self._graph = graph
        self._requests = requests
        self._owed = owed
        self._open: list[_Backfill] = []
        self._told: dict[int, list[tuple[str, bool]]] = {}
        """What is to be said to a request once the last of its rebuilds is done, and whether that is good."""
        self._cancels: list[tuple[int, str]] = []
        """Requests to cancel the backfill of a table, which the engine has not heard of yet."""
        self._lock = threading.Lock()

    def follow(self, graph: TableGraph) -> None:
        """From now on these are the tables: rebuilds that are under way go on without those that are gone."""
        gone = [unit for unit in self._graph.units if unit not in graph.units]
        with self._lock:
            self._graph = graph
            for unit in gone:
                self._leave_out(unit, _Obstacle(told="is declared no longer"))
            for number, table in [each for each in self._cancels if each[1] not in graph]:
                self._cancels.remove((number, table))
                self._owed.add(partial(self._requests.finish, number, cancelled(table)))

    def begin(self, request_id: int, table: str, rows: Mapping[str, TableRow]) -> None:
        """Wait for the table and its dependents, with what is updated together with them, as they stand.

        A request may ask for several tables: it is answered when all are done.
        """
        found = {unit: _obstacle(rows[name] for name in tables) for unit, tables in self._graph.units.items()}
        obstacles = {unit: obstacle for unit, obstacle in found.items() if obstacle is not None}
        with self._lock:
            self._open.append(_Backfill(request_id=request_id, table=table, graph=self._graph, obstacles=obstacles))

    def cancel(self, request_id: int, table: str) -> None:
        """Somebody wants the backfill of a table cancelled: they are answered when it is known whether it is."""
        with self._lock:
            self._cancels.append((request_id, table))

    def cancelled(self, unit: str) -> None:
        """The rebuild of a unit is not gone on with, as somebody has asked for."""
        with self._lock:
            for backfill in [each for each in self._open if each.own == unit and unit in each.left]:
                self._finish(backfill, cancelled(backfill.table), succeeded=False)
            for number, table in self._taken_cancels(unit):
                self._owed.add(partial(self._requests.finish, number, cancelled(table)))

    def not_cancelled(self, unit: str) -> None:
        """What somebody wanted cancelled of a unit, and was not, goes on."""
        with self._lock:
            done = any(each.own == unit and unit in each.done for each in self._open)
            why = (
                "the table is rebuilt already, and what depends on it follows"
                if done
                else "it is just being committed, or more than the backfill needs it"
            )
            for number, table in self._taken_cancels(unit):
                told = f"The backfill of '{table}' goes on: {why}."
                self._owed.add(partial(self._requests.finish, number, told, succeeded=False))

    def _taken_cancels(self, unit: str) -> list[tuple[int, str]]:
        taken = [each for each in self._cancels if self._graph.units.of(each[1]) == unit]
        self._cancels = [each for each in self._cancels if each not in taken]
        return taken

    def given_up(self, unit: str, reason: str) -> None:
        """A rebuild that was only wished for has failed too often: the unit is updated as ever without."""
        with self._lock:
            for backfill in [each for each in self._open if each.own == unit and unit in each.left]:
                told = (
                    f"'{backfill.table}' was not rebuilt, and is updated as ever without: {reason.rstrip('.')}. "
                    f"Mend that, and run `freshtide backfill {backfill.table}` again."
                )
                self._finish(backfill, told, succeeded=False)

    def rebuilt(self, unit: str) -> None:
        with self._lock:
            for backfill in list(self._open):
                if backfill.takes(unit):
                    backfill.done.add(unit)
                    self._finish_if_done(backfill)

    def failed(self, unit: str, reason: str) -> None:
        self._set_aside(unit, f"has failed: {reason.rstrip('.')}")

    def paused(self, unit: str) -> None:
        self._set_aside(unit, "is paused")

    def _set_aside(self, unit: str, told: str) -> None:
        """A unit takes part no longer: what has still to be rebuilt goes on without it."""
        with self._lock:
            self._leave_out(unit, _Obstacle(told=told, resume=self._graph.units[unit][0]))

    def _leave_out(self, unit: str, obstacle: _Obstacle) -> None:
        for backfill in list(self._open):
            if unit not in backfill.left:
                continue
            backfill.obstacles[unit] = obstacle
            if unit == backfill.own:
                self._finish(backfill, f"'{backfill.table}' was not rebuilt: it {obstacle.told}.", succeeded=False)
            else:
                self._finish_if_done(backfill)

    def _finish_if_done(self, backfill: _Backfill) -> None:
        if not backfill.left:
            self._finish(backfill, backfill.story(), succeeded=backfill.is_whole)

    def _finish(self, backfill: _Backfill, message: str, *, succeeded: bool) -> None:
        self._open.remove(backfill)
        number = backfill.request_id
        self._told.setdefault(number, []).append((message, succeeded))
        if any(other.request_id == number for other in self._open):
            return
        told = self._told.pop(number)
        message, succeeded = " ".join(text for text, _ in told), all(good for _, good in told)
        self._owed.add(partial(self._requests.finish, number, message, succeeded=succeeded))


def _obstacle(rows: Iterable[TableRow]) -> _Obstacle | None:
    """What keeps the tables of a unit from being rebuilt."""
    tables = list(rows)
    for row in tables:
        if row.status == "failed":
            return _Obstacle(told=f"has failed: {(row.reason or 'nobody knows why').rstrip('.')}", resume=row.name)
        if row.status != "active":
            return _Obstacle(told=f"is {row.status}", resume=row.name)
    return _Obstacle(told="has no data yet") if all(row.freshness is None for row in tables) else None


def _listed(tables: Iterable[str]) -> str:
    return ", ".join(f"'{table}'" for table in tables)
