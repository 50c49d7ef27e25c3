"""What can be promised to each table under a scheduler on so many tracks, and why not more.

Pure: from what the tables ask for and what is known of them to bounds, verdicts and reasons with their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from freshtide.core.costs import SHORTEST, GivenCost
from freshtide.core.durations import format_duration
from freshtide.guarantees import ROUNDING, Breach, Reserved, Unavoidable, breaches, unavoidable_staleness
from freshtide.planning.bounds import Demand, joined, reserved_at
from freshtide.planning.turns import bounds_of
from freshtide.scheduling import Policy

# What updates of unknown cost up to a table add up to.
_NOTHING = 1_000 * SHORTEST


class Assurance(StrEnum):
    KEPT = "kept"
    CANNOT_BE_KEPT = "cannot be kept"
    """Not for certain: the bound is beyond the target lag, or no scheduler could keep it."""
    NO_GUARANTEE = "no guarantee"
    """With this scheduler: it bounds nothing, or its assumptions do not hold."""


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
    bounds = bounds_of(demands, policy, tracks)
    impossible = _Impossible(demands, policy, tracks)
    found = {}
    for demand in demands:
        bound, unbounded = bounds.of.get(demand.unit), bounds.missing.get(demand.unit, "")
        for table, target in demand.target_lags.items():
            regret = impossible.why(demand, target)
            rests_on = bounds.rests_on
            if target is not None and regret is not None:
                # What no run could keep does not rest on anything that was assumed.
                verdict, reason, rests_on = Assurance.CANNOT_BE_KEPT, regret, ()
            elif bound is None:
                verdict, reason = Assurance.NO_GUARANTEE, unbounded
            elif target is not None and bound > target * (1.0 + ROUNDING) and bounds.is_worst_case:
                verdict = Assurance.NO_GUARANTEE
                reason = f"{format_duration(bound)} stale at worst: {bounds.told[demand.unit]}"
            elif target is not None and bound > target * (1.0 + ROUNDING):
                verdict = Assurance.CANNOT_BE_KEPT
                reason = f"no less than {format_duration(bound)} can be promised: {bounds.told[demand.unit]}"
            else:
                verdict, reason = Assurance.KEPT, bounds.told[demand.unit]
            found[table] = Promise(
                table=table,
                target_lag=target,
                bound=bound,
                verdict=verdict,
                reason=reason,
                rests_on=rests_on,
            )
    return found


class _Impossible:
    """What no scheduler could keep, and what this one never could.

    Costs that nobody knows count as none: they may turn out to be small.
    """

    def __init__(self, demands: Sequence[Demand], policy: Policy, tracks: int) -> None:
        self._tracks = tracks
        demands = [_known(demand) for demand in demands]
        self._demands = {demand.unit: demand for demand in demands}
        self._least = unavoidable_staleness([self._at_least(demand) for demand in demands])
        wanted = self._with_sources(d.unit for d in demands if any(lag is not None for lag in d.target_lags.values()))
        self._work = sum(demand.beta for demand in wanted)
        self._busiest = max(wanted, key=lambda demand: demand.beta, default=None)
        self._breaches: list[Breach] = []
        if policy.adaptive is not None:
            # It loads file by file: what does not fit on average piles up for ever.
            self._breaches = breaches([reserved_at(demand, demand.average) for demand in demands], tracks)

    def why(self, demand: Demand, target_lag: float | None) -> str | None:
        if target_lag is None or demand.update_stream:
            return None
        least = self._least[demand.unit]
        if least.staleness > target_lag * (1.0 + ROUNDING):
            beyond = format_duration(least.staleness - target_lag)
            return f"{format_duration(least.staleness)} cannot be avoided, {beyond} too much: {_parts(least, demand)}"
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
        return f"the adaptive scheduler falls behind for ever: {joined(broken)}" if broken else None

    def _at_least(self, demand: Demand) -> Reserved:
        """What is certain: buckets as wide as they are, updates as long as on average.

        Files of several feeds need not come together: then a period of data may take several updates, of which the one
        that counts may have next to nothing to do.
        """
        feeds = sum(not other.sources for other in self._with_sources([demand.unit]))
        return replace(
            reserved_at(demand, demand.average if feeds == 1 else demand.cost.coefficients[0]),
            held_back=0.0 if math.isinf(demand.held_back) else demand.held_back,
            coarseness=demand.bucket,
        )

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
    if least.held_back:
        parts.append(f"is final {format_duration(least.held_back)} later")
    whose = "its update takes" if least.base == demand.unit else "the updates up to here take"
    if least.work > _NOTHING:
        parts.append(f"and {whose} {format_duration(least.work)}")
    return ", ".join(parts)


def _known(demand: Demand) -> Demand:
    return replace(demand, cost=GivenCost(0.0, 0.0)) if demand.known_by == "assumed" else demand


def _tracks(number: int) -> str:
    return f"{number} track{'' if number == 1 else 's'}"
