"""A scheduler on a test bench: what happens goes in by name, commands come out and are followed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from freshtide.core.commands import Command, GiveUp, StartUpdate, WakeAt
from freshtide.core.costs import CostModel
from freshtide.core.events import (
    ContentChanged,
    DataArrived,
    Event,
    RebuildRequested,
    TablePaused,
    TableResumed,
    TimerFired,
    UpdateFailed,
    UpdateFinished,
)
from freshtide.scheduling import (
    GlobalAllocation,
    NoInheritance,
    Policy,
    RetryPolicy,
    ScheduledTable,
    Scheduler,
)

PLAIN = Policy(allocation=GlobalAllocation(), inheritance=NoInheritance(), chopping=None)
"""Max Benefit over one queue, all that is pending at once."""


def table(name: str, *sources: str, alpha: float = 1.0, beta: float = 0.0, **changes: Any) -> ScheduledTable:
    return ScheduledTable(name=name, sources=sources, cost=CostModel.given(alpha, beta), **{"period": 1.0, **changes})


class Bench:
    """Holds the clock, and knows which track each running update is on."""

    def __init__(
        self,
        *tables: ScheduledTable,
        tracks: int = 1,
        ordering: str | None = None,
        policy: Policy = PLAIN,
        uniform: Callable[[], float] = lambda: 0.0,
        retry: RetryPolicy | None = None,
        reach: Callable[[str, float], float | None] | None = None,
    ) -> None:
        self.scheduler = Scheduler(
            tables,
            tracks=tracks,
            policy=policy if ordering is None else replace(policy, ordering=ordering),
            uniform=uniform,
            retry=retry or RetryPolicy(),
            reach=reach,
        )
        self.now = 0.0
        self.running: dict[str, StartUpdate] = {}
        self.commands: list[Command] = []

    def at(self, now: float) -> Bench:
        self.now = now
        return self

    def happens(self, *events: Event) -> list[Command]:
        self.commands = self.scheduler.handle(events, self.now)
        self.scheduler.check()
        for command in self.commands:
            if isinstance(command, StartUpdate):
                self.running[command.table] = command
        return self.commands

    def arrives(self, name: str, *timestamps: float) -> list[str]:
        self.happens(*(arrival(name, timestamp) for timestamp in timestamps))
        return self.started()

    def finishes(
        self,
        name: str,
        freshness: float | None = None,
        *,
        safe: float | None = None,
        seconds: float = 1.0,
        revised: bool = False,
    ) -> list[str]:
        """The update has got as far as it was told to, unless said otherwise."""
        update = self.running.pop(name)
        reached = update.upto if freshness is None else freshness
        self.happens(
            UpdateFinished(
                table=name,
                track=update.track,
                freshness=reached,
                safe=reached if safe is None else safe,
                seconds=seconds,
                revised=revised or update.rebuild,
            )
        )
        return self.started()

    def changes(self, name: str, at: float, *, revised: bool = False) -> list[str]:
        """A flow has written a table that has no updates of its own."""
        self.happens(ContentChanged(table=name, freshness=at, revised=revised))
        return self.started()

    def fails(self, name: str, reason: str = "disk full", **blame: bool) -> list[Command]:
        update = self.running.pop(name)
        return self.happens(UpdateFailed(table=name, track=update.track, reason=reason, **blame))

    def timer(self) -> list[str]:
        self.happens(TimerFired())
        return self.started()

    def pauses(self, name: str) -> list[str]:
        self.happens(TablePaused(table=name))
        return self.started()

    def resumes(self, name: str) -> list[str]:
        self.happens(TableResumed(table=name))
        return self.started()

    def rebuilds(self, name: str) -> list[str]:
        self.happens(RebuildRequested(table=name))
        return self.started()

    def started(self) -> list[str]:
        """The tables whose updates the last commands started, in order."""
        return [command.table for command in starts(self.commands)]


def arrival(name: str, timestamp: float) -> DataArrived:
    return DataArrived(table=name, timestamp=timestamp)


def starts(commands: Iterable[Command]) -> list[StartUpdate]:
    return [command for command in commands if isinstance(command, StartUpdate)]


def wakes(commands: Iterable[Command]) -> list[float]:
    return [command.time for command in commands if isinstance(command, WakeAt)]


def given_up(commands: Iterable[Command]) -> list[tuple[str, str]]:
    return [(command.table, command.reason) for command in commands if isinstance(command, GiveUp)]
