"""Execution times: E(n) = alpha + beta * n, learnt from recent updates (Golab et al. 2011, section 2.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol

from freshtide.core.pieces import LONGEST_PIECE

SHORTEST: Final = 1e-6
"""No update takes less, so that benefit per second is always defined."""
# Beyond the mean by so many standard deviations an update is an exception, for any distribution that machines have.
_DEVIATIONS = 3.0
# A slope is believed as far as it exceeds so many of its standard errors.
_ERRORS = 2.0
# Five updates, the older ones counting less: a line through fewer is more chance than anything else.
_POINTS = 3.5
# Updates grow by this factor where nobody knows what larger ones take, and by a smaller one where they take long.
_STEP = 2.0
_SMALL_STEP = 1.25
# What an update is taken to cost of which nothing is known, in seconds.
_GUESS = 0.5


class Cost(Protocol):
    """Expected execution time of an update that adds n seconds of data: alpha + beta * n."""

    learns: ClassVar[bool]
    """Whether observations change it."""

    @property
    def coefficients(self) -> tuple[float, float]:
        """(alpha, beta), both at least zero."""
        ...

    @property
    def is_guess(self) -> bool:
        """Whether nobody has said what updates take, and none has been seen."""
        ...

    def within(self, seconds: float, *, bearable: float) -> float:
        """How much data ends in that time even if all costs grow with it, or a step more than updates have had.

        What one takes that is many times as large as any before is anybody's guess. The step is a large one where an
        update could take that much longer and still end in a time that is `bearable`.
        """
        ...

    @property
    def cautious(self) -> tuple[float, float]:
        """(alpha, beta) with a slope as steep as can be told from chance: for updates larger than any so far."""
        ...

    @property
    def scatter(self) -> tuple[float, float]:
        """How many updates it was learnt from, old ones counting less, and the squares of how far they were off."""
        ...

    def expected(self, n: float) -> float:
        """E(n), never zero."""
        ...

    def longest(self, n: float) -> float:
        """What an update takes at most, as far as is known."""
        ...

    def observed(self, n: float, execution: float) -> Cost:
        """What is expected after one more update."""
        ...


@dataclass(frozen=True, slots=True)
class GivenCost:
    """Coefficients that are known and that no observation changes: what a simulation is told."""

    alpha: float
    beta: float
    variability: float = 0.0
    """b: updates take up to (1 + b) times what is expected."""
    learns: ClassVar[bool] = False

    @property
    def coefficients(self) -> tuple[float, float]:
        return self.alpha, self.beta

    @property
    def is_guess(self) -> bool:
        return False

    def within(self, seconds: float, *, bearable: float) -> float:  # noqa: ARG002 - what any size takes is known
        return math.inf

    @property
    def cautious(self) -> tuple[float, float]:
        return self.alpha, self.beta

    @property
    def scatter(self) -> tuple[float, float]:
        return 0.0, 0.0

    def expected(self, n: float) -> float:
        return max(self.alpha + self.beta * n, SHORTEST)

    def longest(self, n: float) -> float:
        return (1.0 + self.variability) * self.expected(n)

    def observed(self, n: float, execution: float) -> GivenCost:  # noqa: ARG002 - it knows better
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """A cost that is learnt.

    A least-squares line over the observations, each counting `memory` times as much as the next younger
    one, so that the model follows a table that grows or a machine that slows down.
    """

    learns: ClassVar[bool] = True
    memory: float = 0.9
    prior_alpha: float = _GUESS
    prior_beta: float = 0.0
    weight: float = 0.0
    sum_n: float = 0.0
    sum_e: float = 0.0
    sum_nn: float = 0.0
    sum_ne: float = 0.0
    sum_ee: float = 0.0
    sum_squares: float = 0.0
    """Of how far updates were from what was expected of them."""

    @classmethod
    def given(cls, alpha: float, beta: float) -> CostModel:
        """A model with known coefficients and nothing observed yet."""
        return cls(prior_alpha=alpha, prior_beta=beta)

    @classmethod
    def learnt_from(cls, observations: Iterable[tuple[float, float]]) -> CostModel:
        """A model that has seen these (n, execution time) pairs, oldest first."""
        model = cls()
        for n, execution in observations:
            model = model.observed(n, execution)
        return model

    def observed(self, n: float, execution: float) -> CostModel:
        """The model after one more update; none takes less than nothing, whatever a clock says that was set back."""
        keep, execution = self.memory, max(0.0, execution)
        return replace(
            self,
            weight=self.weight * keep + 1.0,
            sum_n=self.sum_n * keep + n,
            sum_e=self.sum_e * keep + execution,
            sum_nn=self.sum_nn * keep + n * n,
            sum_ne=self.sum_ne * keep + n * execution,
            sum_ee=self.sum_ee * keep + execution * execution,
            # The first update says what to expect, not how far others stray from it.
            sum_squares=self.sum_squares * keep + (execution - self.expected(n)) ** 2 * (self.weight > 0.0),
        )

    @property
    def coefficients(self) -> tuple[float, float]:
        if self.weight == 0.0:
            return self.prior_alpha, self.prior_beta
        mean_n, mean_e = self.sum_n / self.weight, self.sum_e / self.weight
        variance = self.sum_nn / self.weight - mean_n * mean_n
        covariance = self.sum_ne / self.weight - mean_n * mean_e
        # Updates of one size say nothing about the slope: a relative spread below a percent is noise.
        beta = max(0.0, covariance / variance) if variance > (0.01 * mean_n) ** 2 else 0.0
        alpha = mean_e - beta * mean_n
        if alpha < 0.0:
            alpha, beta = 0.0, mean_e / mean_n
        return alpha, beta

    @property
    def is_guess(self) -> bool:
        return self.weight == 0.0 and self.prior_alpha == _GUESS and self.prior_beta == 0.0

    @property
    def cautious(self) -> tuple[float, float]:
        alpha, beta = self.coefficients
        weight = self.weight
        if weight == 0.0 or beta == 0.0:
            return alpha, beta
        mean_n, mean_e = self.sum_n / weight, self.sum_e / weight
        if weight <= _POINTS:
            return mean_e, 0.0
        variance = self.sum_nn / weight - mean_n * mean_n
        left_over = max(0.0, self.sum_ee / weight - mean_e * mean_e - beta * (self.sum_ne / weight - mean_n * mean_e))
        # The standard error of the slope of a line through so many points.
        error = math.sqrt(left_over / (weight - 2.0) / variance) if variance > 0.0 else math.inf
        beta = max(0.0, beta - _ERRORS * error)
        return mean_e - beta * mean_n, beta

    def within(self, seconds: float, *, bearable: float) -> float:
        if self.weight == 0.0:
            return 0.0 if self.is_guess else math.inf
        if self.sum_n <= 0.0:
            return 0.0
        # The root mean square: those of the last updates that were large count most.
        seen, mean_e = math.sqrt(self.sum_nn / self.weight), self.sum_e / self.weight
        in_proportion = seen * seconds / mean_e if mean_e > 0.0 else math.inf
        _, slope = self.cautious
        if slope == 0.0:
            # All of the cost looks fixed where no slope can be told, be it that all updates were of one size.
            bearable = min(bearable, max(seconds, LONGEST_PIECE))
        # What a second of data was loaded with, in the mean, and in which time: many small updates hide no large one.
        size, took = self.sum_nn / self.sum_n, self.sum_ne / self.sum_n
        return max(size * (_STEP if _STEP * took <= bearable else _SMALL_STEP), in_proportion)

    @property
    def scatter(self) -> tuple[float, float]:
        return self.weight, self.sum_squares

    def expected(self, n: float) -> float:
        alpha, beta = self.coefficients
        return max(alpha + beta * n, SHORTEST)

    def longest(self, n: float) -> float:
        if self.weight == 0.0:
            return self.expected(n)
        return self.expected(n) + _DEVIATIONS * math.sqrt(self.sum_squares / self.weight)
