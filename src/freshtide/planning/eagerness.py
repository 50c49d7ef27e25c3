"""How far an eager scheduler is from the best schedule at most (Bateni et al. 2009, theorem 3.1), for a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freshtide.guarantees import EagerLoad, eager_breaches, eager_factor
from freshtide.planning.bounds import Demand, joined, slowest
from freshtide.scheduling import GlobalAllocation, Policy

_SOURCE = "Bateni et al. 2009, theorem 3.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class EagerBound:
    """What total staleness is at most under an eager scheduler, through the least that there can be."""

    is_eager: bool
    """Whether the scheduler is: it leaves no track idle while an update waits, and loads all that is there at once."""
    factor: float | None
    missing: str | None = None
    """Why there is no factor."""

    @property
    def sentence(self) -> str:
        if self.factor is None:
            return f"No eager bound: {self.missing} ({_SOURCE})."
        bound = f"total staleness within {self.factor:.3g} times the least there can be ({_SOURCE})"
        if self.is_eager:
            return f"This scheduler is eager, and so keeps {bound}."
        return f"An eager scheduler (allocation global, chopping none) would keep {bound}."

    def as_json(self) -> dict[str, Any]:
        return {
            "is_eager": self.is_eager,
            "factor": self.factor,
            "missing": self.missing,
            "words": self.sentence,
        }


def eager_bound(demands: Sequence[Demand], policy: Policy, tracks: int) -> EagerBound:
    """The factor for the tables on so many tracks, whatever the scheduler is: if it is not eager, as if it were."""
    is_eager = policy.adaptive is None and isinstance(policy.allocation, GlobalAllocation) and policy.chopping is None
    missing = _not_covered(demands)
    if missing is None:
        load = EagerLoad(alpha=slowest(demands, _shortest(demands)), tracks=tracks, tables=len(demands))
        broken = eager_breaches(load)
        if not broken:
            return EagerBound(is_eager=is_eager, factor=eager_factor(load))
        missing = joined(broken)
    return EagerBound(is_eager=is_eager, factor=None, missing=missing)


def _not_covered(demands: Sequence[Demand]) -> str | None:
    if not demands:
        return "there are no tables"
    if view := next((demand.unit for demand in demands if demand.sources), None):
        return f"it is about base tables, and views such as '{view}' use the tracks too"
    if stream := next((demand.unit for demand in demands if demand.update_stream), None):
        return f"'{stream}' is an update table"
    if silent := next((demand.unit for demand in demands if demand.period is None), None):
        return f"the feed of '{silent}' declares no period"
    if _shortest(demands) <= 0.0:
        return "a file may come at any time, because a jitter is as long as its period"
    return None


def _shortest(demands: Sequence[Demand]) -> float:
    """Between two files, at least."""
    return min(demand.pace - demand.arrival_jitter for demand in demands)
