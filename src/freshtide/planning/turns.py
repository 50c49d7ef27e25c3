"""How stale tables get at most under the scheduler of target lags: from how long each waits for its turn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from freshtide.core.costs import SHORTEST
from freshtide.core.durations import format_duration
from freshtide.guarantees import Contender, longest_wait
from freshtide.planning.bounds import (
    Bounds,
    Demand,
    assumed_costs,
    fitting_bounds,
    no_bounds,
    sources_first,
    unknown,
)
from freshtide.scheduling import GlobalAllocation, Onlooker, Policy, Prospect, ScheduledTable
from freshtide.scheduling.orderings import TargetLag

# What updates take hangs on how stale tables get, and that on what updates take: so many rounds settle it, or nothing.
_ROUNDS = 100
_SETTLED = 1.0 + 1e-9
_NOT_EACH_TIME = "It is what a table can come to at worst, and far from what it does on most days."


def turn_bounds(demands: Sequence[Demand], policy: Policy, tracks: int) -> Bounds:
    """For base tables a period, a file's age, the wait and two updates; for views the same beyond their sources."""
    looked_at = Onlooker(_scheduled(demands), tracks=tracks, policy=policy, uniform=lambda: 0.0)
    prospects = {demand.unit: looked_at.prospect(demand.unit) for demand in demands}
    strides = {unit: math.inf if found.stride is None else found.stride for unit, found in prospects.items()}
    gains = {demand.unit: min(strides[demand.unit], demand.pace) for demand in demands}
    waits: dict[str, float] = {}
    bounds: dict[str, float] = {}
    for _ in range(_ROUNDS):
        waits = _waits(demands, prospects, gains, tracks)
        bounds = _bounds(demands, waits, gains)
        settled = all(min(strides[unit], bounds[unit]) <= gains[unit] * _SETTLED for unit in gains)
        gains = {unit: max(gains[unit], min(strides[unit], bounds[unit])) for unit in gains}
        if settled or any(math.isinf(gain) for gain in gains.values()):
            break
    missing = unknown(demands) | _unbounded(demands, waits, bounds, strides)
    bounded = [demand for demand in demands if demand.unit not in missing]
    return Bounds(
        of={demand.unit: bounds[demand.unit] for demand in bounded},
        told={demand.unit: _made_of(demand, waits[demand.unit], gains[demand.unit], bounds) for demand in bounded},
        missing=missing,
        rests_on=(*assumed_costs(demands), _NOT_EACH_TIME),
        is_worst_case=True,
    )


def bounds_of(demands: Sequence[Demand], policy: Policy, tracks: int) -> Bounds:
    """What the scheduler bounds, and what it does not."""
    if (found := fitting_bounds(demands, policy, tracks)) is not None:
        return found
    if policy.ordering == TargetLag.name and isinstance(policy.allocation, GlobalAllocation):
        return turn_bounds(demands, policy, tracks)
    return no_bounds(demands, policy)


def _scheduled(demands: Sequence[Demand]) -> list[ScheduledTable]:
    return [
        ScheduledTable(
            name=demand.unit,
            sources=demand.sources,
            priority=demand.priority,
            period=demand.period,
            target=min((lag for lag in demand.target_lags.values() if lag is not None), default=None),
            cost=demand.cost,
            update_stream=demand.update_stream,
            computes_whole=demand.computes_whole,
        )
        for demand in demands
    ]


def _waits(
    demands: Sequence[Demand], prospects: Mapping[str, Prospect], gains: Mapping[str, float], tracks: int
) -> dict[str, float]:
    contenders = {demand.unit: _contender(demand, prospects[demand.unit], gains[demand.unit]) for demand in demands}
    return {
        unit: longest_wait(table, [other for name, other in contenders.items() if name != unit], tracks)
        for unit, table in contenders.items()
    }


def _contender(demand: Demand, prospect: Prospect, gained: float) -> Contender:
    (alpha, _), (cautious, slope) = demand.cost.coefficients, demand.cost.cautious
    # Who never has more to load than one update takes is never cut, and never owed anything.
    is_cut = prospect.stride is not None and gained >= prospect.stride
    return Contender(
        priority=prospect.priority,
        target=prospect.target,
        # What is believed, whatever was learnt: that is what ranks go by.
        least_cost=max(SHORTEST, min(alpha, cautious) * prospect.leaning),
        most_cost=max(demand.cost.expected(gained), cautious + slope * gained) * prospect.leaning,
        execution=demand.cost.longest(gained),
        owed=prospect.owed if is_cut else 0.0,
        piece=prospect.stride if is_cut and prospect.stride is not None else math.inf,
    )


def _bounds(demands: Sequence[Demand], waits: Mapping[str, float], gains: Mapping[str, float]) -> dict[str, float]:
    """What comes just after an update has begun waits for its end, for the table's turn, and for the next one."""
    found: dict[str, float] = {}
    held_back = {demand.unit: demand.held_back for demand in demands}
    for demand in sources_first(demands):
        if demand.sources:
            before = max(found[source] + held_back[source] for source in demand.sources) + demand.coarseness
        else:
            before = demand.pace + demand.arrival_jitter + (demand.timestamp_jitter or 0.0)
        found[demand.unit] = before + waits[demand.unit] + 2.0 * demand.cost.longest(gains[demand.unit])
    return found


def _unbounded(
    demands: Sequence[Demand],
    waits: Mapping[str, float],
    bounds: Mapping[str, float],
    strides: Mapping[str, float],
) -> dict[str, str]:
    found: dict[str, str] = {}
    for demand in sources_first(demands):
        unit = demand.unit
        if (why := next((found[source] for source in demand.sources if source in found), None)) is not None:
            found[unit] = why
        elif math.isinf(waits[unit]):
            found[unit] = f"how long '{unit}' waits for its turn has no bound, as updates cost next to nothing"
        elif math.isinf(bounds[unit]) or bounds[unit] > strides[unit]:
            stride = strides[unit]
            more = "its updates cannot load it faster than it comes"
            if not math.isinf(stride):
                more = (
                    f"at worst more has come by then than the {format_duration(stride)} of data that one update takes"
                )
            found[unit] = f"'{unit}' waits for its turn for {format_duration(waits[unit])} at most, but {more}"
    return found


def _made_of(demand: Demand, wait: float, gained: float, bounds: Mapping[str, float]) -> str:
    takes = format_duration(demand.cost.longest(gained))
    turn = f"it waits for its turn for up to {format_duration(wait)}, and an update takes up to {takes}"
    if demand.sources:
        source = max(demand.sources, key=lambda name: bounds[name])
        return f"'{source}' is at most {format_duration(bounds[source])} stale; {turn}"
    return f"a file comes every {format_duration(demand.pace)}; {turn}"
