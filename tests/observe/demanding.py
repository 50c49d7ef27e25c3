"""Tables that ask for something: by hand, at random, and as a workload that can be simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from freshtide.core.costs import GivenCost
from freshtide.observe import Demand
from freshtide.simulation import SimulatedTable, Stream, Workload


def asks(
    name: str, *sources: str, every: float = 300.0, takes: float = 1.0, target: float | None = None, **how: Any
) -> Demand:
    """A table by itself whose updates take so many seconds, whatever they load, unless it has another cost."""
    given = {"cost": GivenCost(takes, 0.0), "known_by": "given", **how}
    return Demand(unit=name, target_lags={name: target}, sources=sources, period=every, **given)


@st.composite
def demand_sets(draw: st.DrawFn, *, jittered: bool = True, views: bool = True) -> list[Demand]:
    """Base tables and views over them, from nearly idle to far more than the tracks can carry."""
    found: list[Demand] = []
    for number in range(draw(st.integers(1, 4))):
        period = draw(st.sampled_from([60.0, 90.0, 300.0, 900.0]))
        jitter = draw(st.floats(0.0, 0.3)) * period if jittered else 0.0
        found.append(_drawn(draw, f"b{number}", (), period, arrival_jitter=jitter, timestamp_jitter=jitter))
    for number in range(draw(st.integers(0, 3)) if views else 0):
        sources = draw(
            st.lists(st.sampled_from([demand.unit for demand in found]), min_size=1, max_size=2, unique=True)
        )
        period = max(demand.pace for demand in found if demand.unit in sources)
        found.append(_drawn(draw, f"v{number}", tuple(sources), period))
    return found


def _drawn(draw: st.DrawFn, name: str, sources: tuple[str, ...], period: float, **how: Any) -> Demand:
    share = draw(st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.5, 0.9]))
    fixed = draw(st.sampled_from([0.0, 0.5, 1.0]))
    cost = GivenCost(share * period * fixed, share * (1.0 - fixed))
    target = draw(st.sampled_from([None, 1.05, 1.5, 3.0, 6.0, 20.0]))
    return asks(name, *sources, every=period, cost=cost, target=None if target is None else target * period, **how)


def workload_of(demands: Sequence[Demand]) -> Workload:
    """The same tables with files that come up to the jitter after they are due, none just when another one does."""
    return Workload(
        tables=tuple(
            SimulatedTable(
                name=demand.unit,
                sources=demand.sources,
                stream=None
                if demand.sources
                else Stream(period=demand.pace, phase=demand.pace * (1.0 - 0.01 * place), jitter=demand.arrival_jitter),
                alpha=demand.cost.coefficients[0],
                beta=demand.cost.coefficients[1],
            )
            for place, demand in enumerate(demands)
        )
    )
