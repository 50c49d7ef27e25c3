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
    told: float = 0.0
    """Of the total, the part of tables of which something is known."""
    telling: int = 0
    """How many those are."""

    @property
    def typical(self) -> float | None:
        """What one period takes a table of which something is known, in the mean; None if there is none."""
        return self.told / self.telling if self.telling else None

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

    def __init__(self, model: Cost, period: float, everyone: KnownCosts, *, cautious: bool) -> None:
        """`cautious`: larger updates are taken to cost more only where chance alone would not look like that."""
        self.model = model
        self.learns = model.learns
        self._cautious = cautious
        self.alpha, self.beta = model.cautious if cautious else model.coefficients
        self._period = period
        self.everyone = everyone
        self.is_guess = model.is_guess
        cost = self.per_period
        everyone.total += cost
        everyone.tables += 1
        if not self.is_guess:
            everyone.told += cost
            everyone.telling += 1

    def withdraw(self) -> None:
        """The table is gone, and counts among all tables no longer."""
        self.everyone.total -= self.per_period
        self.everyone.tables -= 1

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
        everyone, before = self.everyone, self.per_period
        self.model = self.model.observed(gained, seconds)
        self.alpha, self.beta = self.model.cautious if self._cautious else self.model.coefficients
        after = self.per_period
        everyone.total += after - before
        if self.is_guess:
            self.is_guess = False
            everyone.told += after
            everyone.telling += 1
        else:
            everyone.told += after - before

    def guessed(self) -> float | None:
        """What an update may take of which nothing is known: what it takes the others; None where something is known.

        Whoever is thought to be dearer than all others would be the last to show that it is not.
        """
        return self.everyone.typical if self.is_guess else None
