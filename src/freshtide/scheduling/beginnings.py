"""What a scheduler starts from, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from freshtide.scheduling.conditions import RetryPolicy
from freshtide.scheduling.overview import Overview
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.scheduled import ScheduledTable

SchedulerT = TypeVar("SchedulerT", bound=Overview)
Reach = Callable[[str, float], float | None]
"""How far an update of a derived table to a cut takes it; None where it gives nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Equal beginnings, random numbers, answers of `reach` and events give equal commands."""

    tables: tuple[ScheduledTable, ...]
    tracks: int
    policy: Policy
    retry: RetryPolicy

    def scheduler(self, kind: type[SchedulerT], *, uniform: Callable[[], float], reach: Reach) -> SchedulerT:
        """A scheduler that starts from here: one that works, or one to look at."""
        return kind(self.tables, tracks=self.tracks, policy=self.policy, uniform=uniform, retry=self.retry, reach=reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconfiguration:
    """What a scheduler goes on with in the midst of its life."""

    after: Beginning
    """Of its tables, the state counts only of those that were not there before."""
    redefined: tuple[str, ...] = ()
    """Tables that were there before and are to be computed anew, because their definitions have changed."""

    def change(self, scheduler: Overview, *, uniform: Callable[[], float], reach: Reach) -> None:
        """Let a scheduler go on from here."""
        scheduler.reconfigure(
            self.after.tables,
            tracks=self.after.tracks,
            policy=self.after.policy,
            retry=self.after.retry,
            redefined=self.redefined,
            uniform=uniform,
            reach=reach,
        )
