"""When tables that have fallen behind have caught up: as is to be expected, and at the latest.

At the latest is theorem 4 of Leontyev et al. 2010, under the adaptive scheduler. What is expected is an estimate:
tables that are behind share what the others leave of the tracks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freshtide.core.durations import format_duration
from freshtide.guarantees import Reserved, breaches, fit_together, recovery_time, response_bounds, staleness_bounds
from freshtide.planning.bounds import Demand, reservations
from freshtide.scheduling import Adaptive, Policy

# So many files wait at times of a table that is not behind: under schedulers that have no threshold.
_FEW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How far a table is behind, and for how long."""

    table: str
    files: int
    """That wait to be loaded."""
    expected: float | None
    """In how many seconds they are loaded, and those that come meanwhile, if updates take what they take on average;
    None if the tracks have no time left for it."""
    guaranteed: float | None
    """In how many seconds at most, from the moment on at which the table enters recovery mode; None where no theorem
    says so."""
    at_once: bool
    """Whether it enters recovery mode at once, and has not to wait for other tables that are behind."""

    @property
    def sentence(self) -> str:
        wait = f"{self.files} files wait for '{self.table}'"
        if self.expected is None:
            return f"{wait}, and the tracks have no time left to catch up."
        told = f"{wait}: it is expected to have caught up in {format_duration(self.expected)}"
        if self.guaranteed is None:
            return f"{told}."
        most = format_duration(self.guaranteed)
        return f"{told}, in {most} at most{'' if self.at_once else ' after it has entered recovery mode'}."

    def as_json(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "expected": self.expected,
            "guaranteed": self.guaranteed,
            "at_once": self.at_once,
            "words": self.sentence,
        }


def recoveries(
    demands: Sequence[Demand], policy: Policy, tracks: int, waiting: Mapping[str, int]
) -> dict[str, Recovery]:
    """Every base table that is behind, by name; `waiting` says how many files wait for each."""
    files = {demand.unit: max(waiting.get(table, 0) for table in demand.target_lags) for demand in demands}
    guarantee = None if policy.adaptive is None else _Guarantee(demands, policy.adaptive, tracks)
    behind = [
        demand
        for demand in demands
        if not (demand.sources or demand.update_stream or demand.period is None)
        and (files[demand.unit] > _FEW if guarantee is None else guarantee.is_behind(demand, files[demand.unit]))
    ]
    expected = _expected(behind, demands, policy, tracks, files)
    at_once = guarantee is None or guarantee.lets_in([demand.unit for demand in behind])
    return {
        table: Recovery(
            table=table,
            files=files[demand.unit],
            expected=expected[demand.unit],
            guaranteed=None if guarantee is None else guarantee.of(demand.unit, files[demand.unit], at_once=at_once),
            at_once=at_once,
        )
        for demand in behind
        for table in demand.target_lags
    }


class _Guarantee:
    """Theorem 4, where its assumptions hold."""

    def __init__(self, demands: Sequence[Demand], settings: Adaptive, tracks: int) -> None:
        self._settings, self._tracks = settings, tracks
        self._tables = reservations(demands, settings, tracks)
        self._by_name = {table.table: table for table in self._tables}
        self._holds = not breaches(self._tables, tracks)
        self._response = response_bounds(self._tables, tracks) if self._holds else {}
        self._bounds = staleness_bounds(self._tables, tracks) if self._holds else {}

    def is_behind(self, demand: Demand, files: int) -> bool:
        """Whether it enters recovery mode (rule NR)."""
        threshold = self._settings.threshold_for(demand.unit, self._bounds.get(demand.unit, demand.pace))
        return files * demand.pace > threshold

    def lets_in(self, behind: Sequence[str]) -> bool:
        return fit_together(self._tables, self._tracks, recovering=behind)

    def of(self, unit: str, files: int, *, at_once: bool) -> float | None:
        if not self._holds:
            return None
        table, response = self._by_name[unit], self._response[unit]
        # Nobody knows when the last update was released, but the next one is after a recovery period at the latest.
        found = recovery_time(table, response, self._outage(table, files, at_once=at_once)) + table.recovery_period
        return None if math.isinf(found) else found

    def _outage(self, table: Reserved, files: int, *, at_once: bool) -> float:
        """As long as so many files take to come. While a table waits in normal mode it keeps up, but for some."""
        outage = files * table.period
        return outage if at_once else outage + self._response[table.table] + 3.0 * table.period + table.arrival_jitter


def _expected(
    behind: Sequence[Demand], demands: Sequence[Demand], policy: Policy, tracks: int, files: Mapping[str, int]
) -> dict[str, float | None]:
    """Tables that are behind share evenly what the others leave, and none can use more than a track."""
    spare = tracks - sum(demand.utilisation for demand in demands)
    work = {demand.unit: _work(demand, policy, files[demand.unit]) for demand in behind}
    most = {demand.unit: 1.0 - demand.utilisation for demand in behind}
    found: dict[str, float | None] = dict.fromkeys(work)
    now = 0.0
    while work:
        rates = _shared_out(spare, {unit: most[unit] for unit in work})
        if not rates:
            break
        step, first = min((work[unit] / rate, unit) for unit, rate in rates.items())
        now += step
        work = {unit: left - step * rates.get(unit, 0.0) for unit, left in work.items() if unit != first}
        found[first] = now
    return found


def _shared_out(spare: float, most: Mapping[str, float]) -> dict[str, float]:
    """Evenly, but for those that cannot use as much; nothing if there is nothing."""
    rates: dict[str, float] = {}
    left = [unit for unit in sorted(most, key=lambda unit: (most[unit], unit)) if most[unit] > 0.0]
    while left and spare > 0.0:
        unit = left.pop(0)
        rates[unit] = min(most[unit], spare / (len(left) + 1))
        spare -= rates[unit]
    return rates


def _work(demand: Demand, policy: Policy, files: int) -> float:
    """What loading the files takes: one by one under the adaptive scheduler, else as many at once as chopping lets."""
    at_once = math.inf
    if policy.adaptive is not None:
        at_once = 1.0
    elif isinstance(policy.chopping, float):
        at_once = policy.chopping
    alpha, beta = demand.cost.coefficients
    updates = math.ceil(files / at_once) if at_once < files else 1
    return updates * alpha + beta * files * demand.pace
