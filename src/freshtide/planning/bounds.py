"""How stale tables get at most under a scheduler: the theorems of the papers, applied to a project's tables.

Pure. Where a theorem's assumptions do not hold, there is a reason with numbers instead of a bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from freshtide.core.costs import SHORTEST, Cost, CostModel
from freshtide.core.durations import format_duration
from freshtide.core.health import age_spread, stamp_spread
from freshtide.guarantees import (
    Breach,
    Group,
    Reserved,
    breaches,
    response_bounds,
    staleness_bound,
    staleness_bounds,
    waiting_bound,
    waiting_breaches,
    whole_buckets,
)
from freshtide.scheduling import ASSUMED_PERIOD, Adaptive, GroupAndRun, Load, Policy
from freshtide.scheduling.orderings import Myopic

_NAMED = 3
_IN_EXPECTATION = "Shares are reserved by average costs: the bounds hold in expectation, not each time."
_ONE_BY_ONE = "No two files may come at just the same moment (Bateni et al. 2009, section 4)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a unit of updating, a table or an update group, asks of the tracks, and its users of it."""

    unit: str
    target_lags: Mapping[str, float | None]
    """Of each table of the unit."""
    priority: float = 1.0
    """Of all its tables together, without what is inherited."""
    sources: tuple[str, ...] = ()
    """Units."""
    period: float | None = None
    """None: not declared. The scheduler then assumes one, and nothing can be promised."""
    cost: Cost = field(default_factory=CostModel)
    known_by: Literal["learnt", "given", "assumed"] = "learnt"
    arrival_jitter: float = 0.0
    timestamp_jitter: float | None = 0.0
    """None: nobody knows how old the feed's files are when they come."""
    least_age: float = 0.0
    """No file of the feed is younger when it comes."""
    held_back: float = 0.0
    """How far what dependents may use stays behind its freshness; infinite where that is for punctuation to say."""
    bucket: float = 0.0
    """A view that emits closed buckets: the width of one."""
    update_stream: bool = False
    is_reference: bool = False
    """Whether its staleness is how long updates wait for it, and not how old its rows are."""
    computes_whole: bool = False
    """Whether each update computes all of it, and is never cut."""
    coarseness: float = 0.0
    """How far its freshness stays behind what its sources allow, at most, for the buckets' sake."""

    @property
    def pace(self) -> float:
        """How often it is updated by its nature: once in a period, or in as many buckets as cover one."""
        return whole_buckets(self.period or ASSUMED_PERIOD, self.bucket)

    @property
    def average(self) -> float:
        """E(P)."""
        return self.cost.expected(self.pace)

    @property
    def age_spread(self) -> float:
        return age_spread(self.timestamp_jitter, self.least_age)

    @property
    def stamp_spread(self) -> float:
        return stamp_spread(self.arrival_jitter, self.age_spread)

    @property
    def beta(self) -> float:
        """Seconds of work per second of data."""
        return self.cost.coefficients[1]

    @property
    def utilisation(self) -> float:
        # Of a reference table that names no period nothing is known but that it changes seldom.
        return 0.0 if self.is_reference and self.period is None else self.average / self.pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    of: Mapping[str, float] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)
    """By unit: what its bound is made of."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """By unit: why it has none."""
    rests_on: tuple[str, ...] = ()
    """What they rest on besides the costs that were learnt; sentences."""
    is_worst_case: bool = False
    """Whether they are far above what comes to pass: a target below them may well be kept."""


def fitting_bounds(demands: Sequence[Demand], policy: Policy, tracks: int) -> Bounds | None:
    """By the theorems of the papers; None where none of them speaks of the scheduler."""
    if policy.adaptive is not None:
        return _reserved_bounds(demands, policy.adaptive, tracks)
    if isinstance(policy.allocation, GroupAndRun) and policy.ordering == Myopic.name:
        return _grouped_bounds(demands, policy.allocation, tracks)
    return None


def no_bounds(demands: Sequence[Demand], policy: Policy) -> Bounds:
    """What is to be said where nothing is bounded."""
    return Bounds(missing=dict.fromkeys((demand.unit for demand in demands), f"{_named(policy)} has no bound"))


def _reserved_bounds(demands: Sequence[Demand], settings: Adaptive, tracks: int) -> Bounds:
    """A of Definition 13 (Leontyev et al. 2010), if the assumptions of the theorems hold."""
    reserved = reservations(demands, settings, tracks)
    if broken := breaches(reserved, tracks):
        told = f"the adaptive scheduler cannot reserve what is needed: {joined(broken)}"
        missing = dict.fromkeys((demand.unit for demand in demands), told)
        return Bounds(missing=missing, rests_on=assumed_costs(demands))
    response, found = response_bounds(reserved, tracks), staleness_bounds(reserved, tracks)
    unsure = unknown(demands)
    bounded = [demand for demand in demands if demand.unit not in unsure]
    return Bounds(
        of={demand.unit: found[demand.unit] for demand in bounded},
        told={demand.unit: _made_of(demand, response[demand.unit], found) for demand in bounded},
        missing=unsure,
        rests_on=assumed_costs(demands) + (() if settings.costs == "worst" else (_IN_EXPECTATION,)),
    )


def _grouped_bounds(demands: Sequence[Demand], allocation: GroupAndRun, tracks: int) -> Bounds:
    """What follows from lemma 4.2 of Bateni et al. 2009 for the base tables of groups that it covers."""
    loads = [
        Load(table=demand.unit, period=demand.period or ASSUMED_PERIOD, execution=demand.average) for demand in demands
    ]
    parted = allocation.partition(loads, tracks)
    if parted.shortage is not None:
        return Bounds(missing=dict.fromkeys((demand.unit for demand in demands), parted.shortage.reason))
    unsure = unknown(demands)
    bounds: dict[str, float] = {}
    told: dict[str, str] = {}
    for number, lane in enumerate(parted.lanes):
        members = [demand for demand in demands if parted.lane_of[demand.unit] == number]
        group = Group(
            tables=len(members),
            tracks=lane.own.bit_count(),
            longest=max(demand.pace + demand.arrival_jitter for demand in members),
            shortest=min(demand.pace - demand.arrival_jitter for demand in members),
        )
        why, alpha = _not_covered(members, group), slowest(members, group.shortest)
        for demand in members:
            if demand.unit in unsure:
                continue
            if why is not None:
                unsure[demand.unit] = f"{lane.label} of {allocation.name}: {why}"
                continue
            # The paper stamps a file when it is released; here it is up to so much older.
            age = demand.timestamp_jitter or 0.0
            bounds[demand.unit] = staleness_bound(group, alpha=alpha) + age
            told[demand.unit] = (
                f"a file comes at least every {format_duration(group.longest)}, up to {format_duration(age)} old; "
                f"updates wait up to {format_duration(waiting_bound(group))} and take {alpha:.2g}s per second of data"
            )
    return Bounds(of=bounds, told=told, missing=unsure, rests_on=(*assumed_costs(demands), _ONE_BY_ONE))


def _not_covered(members: Sequence[Demand], group: Group) -> str | None:
    """What of the lemma's assumptions does not hold for a group."""
    if view := next((demand.unit for demand in members if demand.sources), None):
        return f"the view '{view}' is in it, whose updates come when its sources' end and not in a rhythm"
    if group.shortest <= 0.0:
        return "a file may come at any time, because a jitter is as long as its period"
    broken = waiting_breaches(group, alpha=slowest(members, group.shortest))
    return joined(broken) if broken else None


def slowest(members: Sequence[Demand], shortest: float) -> float:
    """alpha of Bateni et al. 2009: seconds to load a second of data at most, if files are at least `shortest` apart.

    The fixed cost weighs most on the shortest update. The paper measures data by when files come; by their stamps,
    which is what costs, it may be more.
    """
    shortest = max(shortest, SHORTEST)
    return max(demand.cost.longest(shortest + demand.age_spread) for demand in members) / shortest


def _made_of(demand: Demand, response: float, bounds: Mapping[str, float]) -> str:
    released = f"an update is released once in {format_duration(demand.pace)}, done {format_duration(response)} later"
    if not demand.sources:
        early = f", up to {format_duration(demand.arrival_jitter)} early" if demand.arrival_jitter else ""
        age = f", up to {format_duration(demand.timestamp_jitter)} old" if demand.timestamp_jitter else ""
        spread = format_duration(demand.stamp_spread)
        more = f", with up to {spread} more data than that" if demand.stamp_spread and demand.beta else ""
        return f"a file comes every {format_duration(demand.pace)}{early}{age}{more}; {released}"
    source = max(demand.sources, key=lambda name: bounds[name])
    buckets = f"; buckets of {format_duration(demand.bucket)} have to close" if demand.bucket else ""
    return f"'{source}' is at most {format_duration(bounds[source])} stale{buckets}; {released}"


def unknown(demands: Sequence[Demand]) -> dict[str, str]:
    """Why nothing can be promised to some units, or to those below which they are."""
    found: dict[str, str] = {}
    punctuated = {demand.unit for demand in demands if math.isinf(demand.held_back)}
    for demand in sources_first(demands):
        if (why := next((found[source] for source in demand.sources if source in found), None)) is not None:
            found[demand.unit] = why
        elif demand.update_stream:
            kind = "a reference table" if demand.is_reference else "an update table"
            found[demand.unit] = f"'{demand.unit}' is {kind}: how long updates wait for it has no bound"
        elif demand.period is None:
            found[demand.unit] = f"the feed of '{demand.unit}' declares no period"
        elif demand.timestamp_jitter is None:
            found[demand.unit] = (
                f"nobody knows how old the files of '{demand.unit}' are when they come; "
                "`timestamp_jitter` of its feed says so, or a run that lasts ten files"
            )
        elif not punctuated.isdisjoint(demand.sources):
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


def reservations(demands: Sequence[Demand], settings: Adaptive, tracks: int) -> list[Reserved]:
    """The shares that the adaptive scheduler reserves. In a live warehouse phase counts as 0: tables start fresh."""
    executions = {demand.unit: settings.reserved_for(demand.cost, demand.pace) for demand in demands}
    total = sum(executions[demand.unit] / demand.pace for demand in demands)
    return [
        replace(
            reserved_at(demand, executions[demand.unit]),
            burst=settings.reserved_for(demand.cost, demand.pace + demand.stamp_spread) - executions[demand.unit],
            recovery_period=settings.recovery_period(
                demand.unit,
                execution=executions[demand.unit],
                period=demand.pace,
                total_utilisation=total,
                tracks=tracks,
            ),
        )
        for demand in demands
    ]


def reserved_at(demand: Demand, execution: float) -> Reserved:
    """A unit whose updates take so long, without a recovery mode."""
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


def assumed_costs(demands: Sequence[Demand]) -> tuple[str, ...]:
    assumed = [demand for demand in demands if demand.known_by == "assumed"]
    if not assumed:
        return ()
    names = ", ".join(f"'{demand.unit}'" for demand in assumed[:_NAMED])
    more = f" and {len(assumed) - _NAMED} more" if len(assumed) > _NAMED else ""
    each = format_duration(assumed[0].average)
    return (f"No costs have been learnt of {names}{more}: {each} an update is assumed.",)


def _named(policy: Policy) -> str:
    return f"the ordering {policy.ordering} with the allocation {policy.allocation.name}"


def joined(broken: Sequence[Breach]) -> str:
    first = broken[0]
    more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
    return f"{first.reason}. {first.way_out.removesuffix('.')}{more}"
