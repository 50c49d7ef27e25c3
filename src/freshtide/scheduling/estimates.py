"""What updates are expected to take, and how far that is believed: where few or none have confirmed it lately."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from freshtide.core.costs import SEASONED, SHORTEST, Cost

# With each time stamp that a table misses, its estimate keeps so much of its weight.
_TRUST: Final = 0.9
# What is left is this share of what others take: enough to be tried among equals, too little to overtake priorities.
_LEFT: Final = 0.5
# What was learnt of a table is taken for chance up to so many standard errors, however alike the others are.
_ERRORS: Final = 2.0
# No update counts for more when it is asked how far they stray: one that hung says little about all others.
_WILDEST: Final = 4.0


@dataclass(slots=True)
class Scatter:
    """How far updates of a table were from what was expected of them."""

    weight: float
    """How many there were, those of long ago counting less."""
    strayed: float
    """The sum of the relative squared errors."""

    @property
    def compared(self) -> float:
        """Of how many updates something was expected: not of the first."""
        return max(0.0, self.weight - 1.0)


@dataclass(slots=True)
class KnownCosts:
    """What updates of all tables are expected to take, one period at a time."""

    total: float = 0.0
    tables: int = 0
    told: float = 0.0
    """Of the total, the part of tables of which something is known."""
    telling: int = 0
    """How many those are."""
    learnt: int = 0
    """How many of these have learnt it from updates."""
    logs: float = 0.0
    squares: float = 0.0
    """Of the logarithms of what a period takes each of them."""
    doubts: float = 0.0
    """Of the inverse of how many updates each has learnt from."""
    strayed: float = 0.0
    compared: float = 0.0
    """How far updates were from what was expected of them, relative to that and squared; of how many."""

    @property
    def typical(self) -> float | None:
        """What one period takes a table of which something is known, in the mean; None if there is none."""
        return self.told / self.telling if self.telling else None

    @property
    def noise(self) -> float:
        """By how much updates of one table differ, as a relative variance."""
        return self.strayed / self.compared if self.compared > 0.0 else 0.0

    def count(self, log: float, scatter: Scatter, sign: int) -> None:
        """A table of which something was learnt counts from now on, or no longer."""
        self.learnt += sign
        self.logs += sign * log
        self.squares += sign * log * log
        self.doubts += sign / scatter.weight
        self.strayed += sign * scatter.strayed
        self.compared += sign * scatter.compared

    def leaning(self, log: float, weight: float) -> float:
        """The factor by which a table's cost is believed to differ from what was learnt of it: towards the typical one.

        Equal tables seem to differ by chance, and who seems dear would wait longer for its turn. So of what a table is
        apart from the others, as much is believed as their spread exceeds what chance makes of it (James and Stein
        1961); but nobody is moved further than chance could have moved it (Efron and Morris 1972): one dear table among
        hundreds of equal ones stays dear.
        """
        if self.learnt < 2:
            return 1.0
        typical = self.logs / self.learnt
        error = self.noise / weight
        spread = self.squares / self.learnt - typical * typical - self.noise * self.doubts / self.learnt
        apart = typical - log
        if spread > 0.0:
            apart *= error / (spread + error)
        most = _ERRORS * math.sqrt(error)
        return math.exp(max(-most, min(most, apart)))

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
        self.steps = model
        """What larger updates are approached by: what was learnt, or else what the first load was like."""
        self._log = 0.0
        self._scatter: Scatter | None = None
        self._count()
        cost = self.per_period
        everyone.total += cost
        everyone.tables += 1
        if not self.is_guess:
            everyone.told += cost
            everyone.telling += 1

    def withdraw(self) -> None:
        """The table is gone, and counts among all tables no longer."""
        everyone, cost = self.everyone, self.per_period
        everyone.total -= cost
        everyone.tables -= 1
        if not self.is_guess:
            everyone.told -= cost
            everyone.telling -= 1
        if self._scatter is not None:
            everyone.count(self._log, self._scatter, -1)

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
        self.steps = self.model
        self._count()
        after = self.per_period
        everyone.total += after - before
        if self.is_guess:
            self.is_guess = False
            everyone.told += after
            everyone.telling += 1
        else:
            everyone.told += after - before

    def loaded_first(self, gained: float, seconds: float) -> None:
        """The first load has brought so much in that time. It is unlike all others, and says only what was bearable."""
        if self.is_guess:
            self.steps = self.model.observed(gained, seconds)

    @property
    def is_seasoned(self) -> bool:
        """Whether enough updates were seen to say what many pieces take: the first ones are small, and say little."""
        return not self.learns or self.model.scatter[0] > SEASONED

    @property
    def leaning(self) -> float:
        """The factor by which the cost is believed to differ from what was learnt."""
        scatter = self._scatter
        return 1.0 if scatter is None else self.everyone.leaning(self._log, scatter.weight)

    def _count(self) -> None:
        """What was learnt has changed."""
        if self._scatter is not None:
            self.everyone.count(self._log, self._scatter, -1)
        weight, squares = self.model.scatter
        if weight > 0.0:
            cost = self.per_period
            self._log, self._scatter = math.log(cost), Scatter(weight, min(squares / (cost * cost), _WILDEST * weight))
            self.everyone.count(self._log, self._scatter, 1)

    def guessed(self) -> float | None:
        """What an update may take of which nothing is known: what it takes the others; None where something is known.

        Whoever is thought to be dearer than all others would be the last to show that it is not.
        """
        return self.everyone.typical if self.is_guess else None
