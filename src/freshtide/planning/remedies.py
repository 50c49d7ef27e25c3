"""The cheapest change that would keep a target lag. Each one is tried out; only what works is named."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from freshtide.core.durations import format_duration
from freshtide.guarantees import ROUNDING, total_utilisation
from freshtide.planning.bounds import Demand, reservations, sources_first
from freshtide.planning.promises import Assurance, Promise, promises
from freshtide.scheduling import GROUP_AND_RUN, Adaptive, GroupAndRun, Policy, adaptive_policy

# More than that nobody would add to a machine at once, and each number is tried.
_MOST_MORE_TRACKS = 64
# Where tables ask for more of them, it is not tracks that are amiss.
_MOST_TRACKS = 1_000
# Nobody would change a period for the sake of a table that asks for less than so many others.
_MOST_PERIODS = 8
_DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What to change, and how stale the table would get at most."""

    scheduler: str | None = None
    tracks: int | None = None
    period: tuple[str, float] | None = None
    """A base table whose feed should deliver less often, in larger files, and how often."""
    target_lag: float | None = None
    bound: float = math.inf

    @property
    def words(self) -> str:
        parts = []
        if self.scheduler is not None:
            parts.append(f"`scheduler: {self.scheduler}`")
        if self.period is not None:
            parts.append(f"a period of {format_duration(self.period[1])} for '{self.period[0]}'")
        if self.tracks is not None:
            parts.append(f"{self.tracks} tracks")
        if self.target_lag is not None:
            parts.append(f"a target lag of {format_duration(self.target_lag)}")
        return f"{' and '.join(parts)} would do: at most {format_duration(self.bound)} stale."

    def as_json(self) -> dict[str, Any]:
        period = None if self.period is None else {"table": self.period[0], "seconds": self.period[1]}
        return {
            "scheduler": self.scheduler,
            "tracks": self.tracks,
            "period": period,
            "target_lag": self.target_lag,
            "bound": self.bound,
            "words": self.words,
        }

    def applied(self, demands: Sequence[Demand], policy: Policy, tracks: int) -> tuple[list[Demand], Policy, int]:
        """The same tables, scheduler and tracks with the change, except for the target lag, which is one table's."""
        changed = list(demands) if self.period is None else _with_period(demands, *self.period)
        return changed, policy if self.scheduler is None else SCHEDULERS[self.scheduler], self.tracks or tracks


SCHEDULERS = {
    "adaptive": adaptive_policy(),
    GroupAndRun.name: GROUP_AND_RUN,
}
"""Those that promise something, by the name to write."""


def remedies(demands: Sequence[Demand], policy: Policy, tracks: int) -> dict[str, Remedy]:
    """For every table whose target lag is not sure to be kept the cheapest remedy, where there is one."""
    search = _Search(demands, policy, tracks)
    troubled = [promise for promise in search.now.values() if promise.target_lag is not None]
    found = {}
    for promise in troubled:
        if promise.verdict is not Assurance.KEPT and (remedy := search.remedy_for(promise)) is not None:
            found[promise.table] = remedy
    return found


class _Search:
    """Tries changes out, each once for all tables."""

    def __init__(self, demands: Sequence[Demand], policy: Policy, tracks: int) -> None:
        self._demands, self._policy, self._tracks = demands, policy, tracks
        self.now = promises(demands, policy, tracks)
        self._tried: dict[Remedy, dict[str, Promise]] = {}

    def remedy_for(self, promise: Promise) -> Remedy | None:
        for change in self._changes:
            after = self._after(change)[promise.table]
            if after.verdict is Assurance.KEPT and after.bound is not None:
                return replace(change, bound=after.bound)
        return self._another_target(promise.table)

    @cached_property
    def _others(self) -> list[str]:
        """The schedulers that promise something, besides the one there is."""
        return [name for name, policy in SCHEDULERS.items() if policy != self._policy]

    @cached_property
    def _changes(self) -> list[Remedy]:
        """From cheap to dear: a line in the project, larger files, more of the machine."""
        schedulers = (None, *self._others)
        return [
            *(Remedy(scheduler=name) for name in self._others),
            *(Remedy(scheduler=name, period=period) for name in schedulers for period in self._longer_periods(name)),
            *self._more_tracks,
        ]

    @cached_property
    def _more_tracks(self) -> list[Remedy]:
        # On fewer than all tables keep busy nothing can be promised to anybody.
        busy = math.ceil(sum(demand.utilisation for demand in self._demands) - ROUNDING)
        first = max(self._tracks + 1, busy)
        numbers = range(first, min(first + _MOST_MORE_TRACKS, _MOST_TRACKS + 1))
        return [Remedy(scheduler=name, tracks=number) for number in numbers for name in (None, *self._others)]

    def _longer_periods(self, scheduler: str | None) -> Iterator[tuple[str, float]]:
        """For each base table the shortest period with which all reservations fit, those that ask most first."""
        policy = self._policy if scheduler is None else SCHEDULERS[scheduler]
        if policy.adaptive is None:
            return
        bases = [demand for demand in self._demands if not demand.sources and demand.period is not None]
        for base in sorted(bases, key=lambda demand: -demand.utilisation)[:_MOST_PERIODS]:
            period = _fitting_period(self._demands, base, policy.adaptive, self._tracks)
            if period is not None:
                yield base.unit, period

    def _another_target(self, table: str) -> Remedy | None:
        """The target lag that can be kept, with the scheduler and the tracks that it takes."""
        for change in (Remedy(), *(Remedy(scheduler=name) for name in self._others), *self._more_tracks):
            bound = self._after(change)[table].bound
            if bound is not None:
                return replace(change, target_lag=_rounded_up(bound), bound=bound)
        return None

    def _after(self, change: Remedy) -> dict[str, Promise]:
        if change not in self._tried:
            self._tried[change] = promises(*change.applied(self._demands, self._policy, self._tracks))
        return self._tried[change]


def _fitting_period(demands: Sequence[Demand], base: Demand, settings: Adaptive, tracks: int) -> float | None:
    """The shortest period of a base table, longer than its own, with which the tables fit on the tracks."""

    def fits(period: float) -> bool:
        reserved = reservations(_with_period(demands, base.unit, period), settings, tracks)
        return total_utilisation(reserved) <= tracks and all(table.utilisation <= 1.0 for table in reserved)

    low, high = base.pace, 2.0 * base.pace
    if fits(low):
        return None
    while not fits(high):
        low, high = high, 2.0 * high
        # Costs that grow with the data do not fit better into a longer period.
        if high > 1024.0 * base.pace:
            return None
    while high - low > 10.0**-_DIGITS * low:
        middle = (low + high) / 2.0
        low, high = (low, middle) if fits(middle) else (middle, high)
    return _rounded_up(high)


def _with_period(demands: Sequence[Demand], unit: str, period: float) -> list[Demand]:
    """With another period of a base table, and of the views below it: theirs is the longest among their ancestors'."""
    periods: dict[str, float | None] = {}
    for demand in sources_first(demands):
        if demand.sources:
            above = [periods[source] for source in demand.sources]
            known = [found for found in above if found is not None]
            periods[demand.unit] = max(known, default=None)
        else:
            periods[demand.unit] = period if demand.unit == unit else demand.period
    return [_paced(demand, periods[demand.unit]) for demand in demands]


def _paced(demand: Demand, period: float | None) -> Demand:
    # A jitter as long as the period means that a file may come at any time: that stays so.
    at_any_time = period is not None and demand.period is not None and demand.arrival_jitter >= demand.period
    return replace(demand, period=period, arrival_jitter=period if at_any_time and period else demand.arrival_jitter)


def _rounded_up(seconds: float) -> float:
    """To a number that people would write: three digits, or whole seconds."""
    step = 10.0 ** (math.floor(math.log10(seconds)) - _DIGITS + 1) if seconds > 0.0 else 1.0
    return math.ceil(seconds / min(1.0, step)) * min(1.0, step)
