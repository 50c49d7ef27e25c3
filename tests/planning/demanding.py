"""Tables that ask for something: by hand, at random, and as a workload that can be simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hypothesis import strategies as st

from freshtide.core.costs import GivenCost
from freshtide.guarantees import whole_buckets
from freshtide.planning import Demand
from freshtide.simulation import SimulatedTable, Stream, Workload


def asks(
    name: str, *sources: str, every: float = 300.0, takes: float = 1.0, target: float | None = None, **how: Any
) -> Demand:
    """A table by itself whose updates take so many seconds, whatever they load, unless it has another cost."""
    given = {"cost": GivenCost(takes, 0.0), "known_by": "given", **how}
    return Demand(unit=name, target_lags={name: target}, sources=sources, period=every, **given)


@st.composite
def demand_sets(draw: st.DrawFn) -> list[Demand]:
    """Base tables and views over them, from nearly idle to far more than the tracks can carry."""
    found: list[Demand] = []
    for number in range(draw(st.integers(1, 4))):
        period = draw(st.sampled_from([60.0, 90.0, 300.0, 900.0]))
        jitter = draw(st.floats(0.0, 0.3)) * period
        oldest = draw(st.sampled_from([0.0, 0.5, 3.0, 10.0])) * period
        found.append(_drawn(draw, f"b{number}", (), period, arrival_jitter=jitter, timestamp_jitter=oldest))
    for number in range(draw(st.integers(0, 3))):
        sources = draw(
            st.lists(st.sampled_from([demand.unit for demand in found]), min_size=1, max_size=2, unique=True)
        )
        period = max(demand.period or 0.0 for demand in found if demand.unit in sources)
        bucket = draw(st.sampled_from([0.0, 0.0, 100.0, 600.0]))
        found.append(_drawn(draw, f"v{number}", tuple(sources), period, bucket=bucket, coarseness=bucket))
    return found


@st.composite
def calm_sets(draw: st.DrawFn) -> list[Demand]:
    """Base tables of one group: similar periods, short updates, files nearly in time."""
    found = []
    for number in range(draw(st.integers(1, 6))):
        period = draw(st.sampled_from([60.0, 75.0, 90.0]))
        jitter = draw(st.floats(0.0, 0.1)) * period
        share = draw(st.sampled_from([0.001, 0.02, 0.06, 0.1]))
        fixed = draw(st.sampled_from([0.0, 0.5, 1.0]))
        cost = GivenCost(share * period * fixed, share * (1.0 - fixed))
        oldest = draw(st.sampled_from([0.0, 0.2, 2.0])) * period
        found.append(asks(f"b{number}", every=period, cost=cost, arrival_jitter=jitter, timestamp_jitter=oldest))
    return found


def _drawn(draw: st.DrawFn, name: str, sources: tuple[str, ...], period: float, **how: Any) -> Demand:
    share = draw(st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.5, 0.9]))
    fixed = draw(st.sampled_from([0.0, 0.5, 1.0]))
    cost = GivenCost(share * period * fixed, share * (1.0 - fixed))
    target = draw(st.sampled_from([None, 1.05, 1.5, 3.0, 6.0, 20.0]))
    return asks(name, *sources, every=period, cost=cost, target=None if target is None else target * period, **how)


@dataclass(frozen=True, kw_only=True)
class _Paced(Workload):
    """Views that close buckets are due once in whole ones, as the live scheduler is told."""

    buckets: Mapping[str, float]

    @cached_property
    def periods(self) -> dict[str, float]:
        return {name: whole_buckets(period, self.buckets[name]) for name, period in super().periods.items()}


def workload_of(demands: Sequence[Demand]) -> Workload:
    """The same tables with files that come up to the jitter after they are due, none just when another one does.

    Their time stamps are as irregular as is said."""
    buckets = {demand.unit: demand.bucket for demand in demands}

    def reach(unit: str, cut: float) -> float | None:
        width = buckets[unit]
        return cut if not width else cut // width * width or None

    return _Paced(
        tables=tuple(
            SimulatedTable(
                name=demand.unit,
                sources=demand.sources,
                stream=None
                if demand.sources
                else Stream(
                    period=demand.pace,
                    phase=demand.pace * (1.0 - 0.01 * place),
                    jitter=demand.arrival_jitter,
                    timestamp_jitter=demand.timestamp_jitter,
                ),
                alpha=demand.cost.coefficients[0],
                beta=demand.cost.coefficients[1],
            )
            for place, demand in enumerate(demands)
        ),
        reach=reach,
        buckets=buckets,
    )
