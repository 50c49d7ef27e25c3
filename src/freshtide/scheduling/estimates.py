"""What updates are expected to take, and how far that is believed if no update has confirmed it for long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from freshtide.core.costs import SHORTEST, Cost

# With each time stamp that a table misses, its estimate keeps so much of its weight.
_TRUST: Final = 0.9
# What is left is this share of what others take: enough to be tried among equals, too little to overtake priorities.
_LEFT: Final = 0.5


@dataclass(slots=True)
class KnownCosts:
    """What updates of all tables are expected to take, one period at a time."""

    total: float = 0.0
    tables: int = 0

    def believed(self, cost: float, own: float, *, missed: int) -> float:
        """What an update is taken to cost, so many time stamps after the last one; `own` is its part of the total.

        An update in a bad moment makes its table look dear. On a machine that is never idle such a table would not be
        updated again, and so never be judged anew.
        """
        if self.tables < 2:
            return cost
        floor = _LEFT * (self.total - own) / (self.tables - 1)
        return cost if cost <= floor or missed <= 0 else floor + (cost - floor) * _TRUST**missed


class Estimate:
    """What updates of one table are expected to take: alpha + beta * n for n seconds of data."""

    def __init__(self, model: Cost, period: float, everyone: KnownCosts) -> None:
        self.model = model
        self.learns = model.learns
        self.alpha, self.beta = model.coefficients
        self._period = period
        self.everyone = everyone
        everyone.total += self.per_period
        everyone.tables += 1

    @property
    def per_period(self) -> float:
        """E(P)."""
        return self.of(self._period)

    def of(self, gained: float) -> float:
        """What an update takes that gains so much freshness."""
        cost = self.alpha + self.beta * gained
        return cost if cost > SHORTEST else SHORTEST

    def doubted(self, cost: float, *, missed: int) -> float:
        """What is left of an expectation so many time stamps after the last update."""
        return self.everyone.believed(cost, self.per_period, missed=missed)

    def learn(self, gained: float, seconds: float) -> None:
        """An update that gained so much freshness took so long."""
        before = self.per_period
        self.model = self.model.observed(gained, seconds)
        self.alpha, self.beta = self.model.coefficients
        self.everyone.total += self.per_period - before
