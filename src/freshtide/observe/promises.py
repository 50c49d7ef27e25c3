"""What can be promised to each table under a scheduler on so many tracks, and why not more.

Pure: from what the tables ask for and what is known of them to bounds, verdicts and reasons with their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from freshtide.core.costs import Cost, CostModel
from freshtide.core.durations import format_duration
from freshtide.guarantees import (
    Breach,
    Reserved,
    Unavoidable,
    breaches,
    fastest_recovery,
    joint_recovery,
    response_bounds,
    staleness_bounds,
    unavoidable_staleness,
)
from freshtide.guarantees.reservations import ROUNDING
from freshtide.scheduling import Adaptive, Policy
from freshtide.scheduling.states import ASSUMED_PERIOD

_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a unit of updating, a table or an update group, asks of the tracks, and its users of it."""

    unit: str
    target_lags: Mapping[str, float | None]
    """Of each table of the unit."""
    sources: tuple[str, ...] = ()
    """Units."""
    period: float | None = None
    """None: not declared. The scheduler then assumes one, and nothing can be promised."""
    cost: Cost = field(default_factory=CostModel)
    known_by: Literal["learnt", "given", "assumed"] = "learnt"
    arrival_jitter: float = 0.0
    timestamp_jitter: float | None = 0.0
    """None: nobody knows how old the feed's files are when they come."""
    held_back: float = 0.0
    """How far what dependents may use stays behind its freshness; infinite where that is for punctuation to say."""
    bucket: float = 0.0
    """A view that emits closed buckets: the width of one."""
    coarseness: float = 0.0
    """How far its freshness stays behind what its sources allow, at most, for the buckets' sake."""

    @property
    def pace(self) -> float:
        """The period that it is scheduled by."""
        return self.period or ASSUMED_PERIOD

    @property
    def average(self) -> float:
        """E(P)."""
        return self.cost.expected(self.pace)

    @property
    def worst(self) -> float:
        return self.cost.longest(self.pace)

    @property
    def beta(self) -> float:
        """Seconds of work per second of data."""
        return self.cost.coefficients[1]

    @property
    def utilisation(self) -> float:
        return self.average / self.pace


class Assurance(StrEnum):
    KEPT = "kept"
    CANNOT_BE_KEPT = "cannot be kept"
    NO_GUARANTEE = "no guarantee"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """How stale a table gets at most, and whether that keeps its target lag."""

    table: str
    target_lag: float | None
    bound: float | None
    """In seconds; None where nothing is promised."""
    verdict: Assurance
    reason: str
    rests_on: tuple[str, ...] = ()
    """What the bound rests on besides the costs that were learnt; sentences."""

    def as_json(self) -> dict[str, Any]:
        return {
            "bound": self.bound,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "rests_on": list(self.rests_on),
        }


def promises(demands: Sequence[Demand], policy: Policy, tracks: int) -> dict[str, Promise]:
    """A promise for every table."""
    bounds = _bounds(demands, policy, tracks)
    impossible = _Impossible(demands, policy, tracks)
    rests_on = _assumptions(demands, policy) if bounds.of else ()
    found = {}
    for demand in demands:
        bound, unbounded = bounds.of.get(demand.unit), bounds.missing.get(demand.unit, "")
        for table, target in demand.target_lags.items():
            regret = impossible.why(demand, target)
            if target is not None and regret is not None:
                verdict, reason = Assurance.CANNOT_BE_KEPT, regret
            elif bound is None:
                verdict, reason = Assurance.NO_GUARANTEE, unbounded
            elif target is not None and bound > target * (1.0 + ROUNDING):
                verdict = Assurance.NO_GUARANTEE
                reason = f"no less than {format_duration(bound)} can be promised: {bounds.told[demand.unit]}"
            else:
                verdict, reason = Assurance.KEPT, bounds.told[demand.unit]
            found[table] = Promise(
                table=table,
                target_lag=target,
                bound=bound,
                verdict=verdict,
                reason=reason,
                rests_on=rests_on if bound is not None else (),
            )
    return found


def reservations(demands: Sequence[Demand], settings: Adaptive, tracks: int) -> list[Reserved]:
    """The shares that the adaptive scheduler reserves. In a live warehouse phase counts as 0: tables start fresh."""
    worst = settings.costs == "worst"
    executions = {demand.unit: demand.worst if worst else demand.average for demand in demands}
    total = sum(executions[demand.unit] / demand.pace for demand in demands)
    return [
        replace(
            _reserved(demand, executions[demand.unit]),
            recovery_period=_recovery_period(demand, executions[demand.unit], total, settings, tracks),
        )
        for demand in demands
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    of: Mapping[str, float] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)
    """By unit: what its bound is made of."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """By unit: why it has none."""


def _bounds(demands: Sequence[Demand], policy: Policy, tracks: int) -> _Bounds:
    if policy.adaptive is not None:
        return _reserved_bounds(demands, policy.adaptive, tracks)
    return _Bounds(missing=dict.fromkeys((demand.unit for demand in demands), f"{_named(policy)} has no bound"))


def _reserved_bounds(demands: Sequence[Demand], settings: Adaptive, tracks: int) -> _Bounds:
    """A of Definition 13 (Leontyev et al. 2010), if the assumptions of the theorems hold."""
    reserved = reservations(demands, settings, tracks)
    if broken := breaches(reserved, tracks):
        told = f"the adaptive scheduler cannot reserve what is needed: {_joined(broken)}"
        return _Bounds(missing=dict.fromkeys((demand.unit for demand in demands), told))
    response, found = response_bounds(reserved, tracks), staleness_bounds(reserved, tracks)
    unknown = _unknown(demands)
    bounded = [demand for demand in demands if demand.unit not in unknown]
    return _Bounds(
        of={demand.unit: found[demand.unit] for demand in bounded},
        told={demand.unit: _made_of(demand, response[demand.unit], found) for demand in bounded},
        missing=unknown,
    )


def _made_of(demand: Demand, response: float, bounds: Mapping[str, float]) -> str:
    released = f"an update is released once in {format_duration(demand.pace)}, done {format_duration(response)} later"
    if not demand.sources:
        early = f", up to {format_duration(demand.arrival_jitter)} early" if demand.arrival_jitter else ""
        age = f", up to {format_duration(demand.timestamp_jitter)} old" if demand.timestamp_jitter else ""
        return f"a file comes every {format_duration(demand.pace)}{early}{age}; {released}"
    source = max(demand.sources, key=lambda name: bounds[name])
    buckets = f"; buckets of {format_duration(demand.bucket)} have to close" if demand.bucket else ""
    return f"'{source}' is at most {format_duration(bounds[source])} stale{buckets}; {released}"


def _unknown(demands: Sequence[Demand]) -> dict[str, str]:
    """Why nothing can be promised to some units, or to those below which they are."""
    found: dict[str, str] = {}
    for demand in sources_first(demands):
        if (why := next((found[source] for source in demand.sources if source in found), None)) is not None:
            found[demand.unit] = why
        elif demand.period is None:
            found[demand.unit] = f"the feed of '{demand.unit}' declares no period"
        elif demand.timestamp_jitter is None:
            found[demand.unit] = (
                f"nobody knows how old the files of '{demand.unit}' are when they come; "
                "`timestamp_jitter` of its feed says so, or a run that lasts ten files"
            )
        elif any(math.isinf(d.held_back) for d in demands if d.unit in demand.sources):
            found[demand.unit] = "how far it may use its sources is for punctuation to say"
    return found


def sources_first(demands: Sequence[Demand]) -> list[Demand]:
    by_unit = {demand.unit: demand for demand in demands}
    placed: dict[str, Demand] = {}

    def place(demand: Demand) -> None:
        if demand.unit not in placed:
            for source in demand.sources:
                place(by_unit[source])
            placed[demand.unit] = demand

    for demand in demands:
        place(demand)
    return list(placed.values())


class _Impossible:
    """What no scheduler could keep, and what this one never could."""

    def __init__(self, demands: Sequence[Demand], policy: Policy, tracks: int) -> None:
        self._tracks = tracks
        self._demands = {demand.unit: demand for demand in demands}
        self._least = unavoidable_staleness([_at_least(demand) for demand in demands])
        wanted = self._with_sources(d.unit for d in demands if any(lag is not None for lag in d.target_lags.values()))
        self._work = sum(demand.beta for demand in wanted)
        self._busiest = max(wanted, key=lambda demand: demand.beta, default=None)
        self._breaches: list[Breach] = []
        if policy.adaptive is not None:
            # It loads file by file: what does not fit on average piles up for ever.
            self._breaches = breaches([_reserved(demand, demand.average) for demand in demands], tracks)

    def why(self, demand: Demand, target_lag: float | None) -> str | None:
        if target_lag is None:
            return None
        least = self._least[demand.unit]
        if least.staleness > target_lag * (1.0 + ROUNDING):
            return f"{format_duration(least.staleness)} cannot be avoided: {_parts(least, demand)}"
        below = self._with_sources([demand.unit])
        if (slow := next((other for other in below if other.beta > 1.0 + ROUNDING), None)) is not None:
            return (
                f"'{slow.unit}' takes {slow.beta:.3g}s of work per second of data and can use one track at a time: "
                "it falls behind for ever"
            )
        if self._work > self._tracks * (1.0 + ROUNDING) and self._busiest is not None:
            return (
                f"the tables with target lags and their sources take {self._work:.3g}s of work per second of data, "
                f"more than {_tracks(self._tracks)} can do; {self._busiest.beta:.3g}s of it for '{self._busiest.unit}'"
            )
        names = {other.unit for other in below}
        broken = [breach for breach in self._breaches if breach.table is None or breach.table in names]
        return f"the adaptive scheduler falls behind for ever: {_joined(broken)}" if broken else None

    def _with_sources(self, units: Iterable[str]) -> list[Demand]:
        found: dict[str, Demand] = {}
        front = list(units)
        while front:
            demand = self._demands[front.pop()]
            if demand.unit not in found:
                found[demand.unit] = demand
                front += demand.sources
        return list(found.values())


def _parts(least: Unavoidable, demand: Demand) -> str:
    base = "its file" if least.base == demand.unit else f"a file of '{least.base}'"
    parts = [f"{base} comes every {format_duration(least.interval)}"]
    if demand.bucket >= least.interval:
        parts = [f"a bucket of {format_duration(demand.bucket)} has to close"]
    if least.age:
        parts.append(f"is {format_duration(least.age)} old")
    if least.held_back:
        parts.append(f"is final {format_duration(least.held_back)} later")
    whose = "its update takes" if least.base == demand.unit else "the updates up to here take"
    return f"{', '.join(parts)}, and {whose} {format_duration(least.work)}"


def _at_least(demand: Demand) -> Reserved:
    """What is certain: files as old as is known, buckets as wide as they are, updates as long as on average."""
    return replace(
        _reserved(demand, demand.average),
        held_back=0.0 if math.isinf(demand.held_back) else demand.held_back,
        coarseness=demand.bucket,
    )


def _reserved(demand: Demand, execution: float) -> Reserved:
    return Reserved(
        table=demand.unit,
        period=demand.pace,
        execution=execution,
        recovery_period=demand.pace,
        sources=demand.sources,
        arrival_jitter=demand.arrival_jitter,
        timestamp_jitter=demand.timestamp_jitter or 0.0,
        held_back=demand.held_back,
        coarseness=demand.coarseness,
    )


def _recovery_period(demand: Demand, execution: float, total: float, settings: Adaptive, tracks: int) -> float:
    given = settings.recovery_of.get(demand.unit, settings.recovery)
    if not isinstance(given, str):
        return given
    formula = fastest_recovery if given == "fastest" else joint_recovery
    return formula(execution=execution, period=demand.pace, total_utilisation=total, tracks=tracks)


def _assumptions(demands: Sequence[Demand], policy: Policy) -> tuple[str, ...]:
    told = []
    if policy.adaptive is not None and policy.adaptive.costs == "average":
        told.append("Shares are reserved by average costs: the bounds hold in expectation, not each time.")
    if assumed := [demand for demand in demands if demand.known_by == "assumed"]:
        names = ", ".join(f"'{demand.unit}'" for demand in assumed[:_NAMED])
        more = f" and {len(assumed) - _NAMED} more" if len(assumed) > _NAMED else ""
        told.append(
            f"No costs have been learnt of {names}{more}: {format_duration(assumed[0].average)} an update is assumed."
        )
    return tuple(told)


def _named(policy: Policy) -> str:
    return f"the ordering {policy.ordering} with the allocation {policy.allocation.name}"


def _joined(broken: Sequence[Breach]) -> str:
    first = broken[0]
    more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
    return f"{first.reason}. {first.way_out.removesuffix('.')}{more}"


def _tracks(number: int) -> str:
    return f"{number} track{'' if number == 1 else 's'}"
