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
# A fixed cost is believed but for some of its standard errors, more of them where there are few updates. With too few
# of them pieces get long, with too many they are cut into crumbs.
_FEW_ERRORS = 0.25
_DOUBTS = 2.0
SEASONED: Final = 3.5
"""Five updates, the older ones counting less: a line through fewer is more chance than anything else."""
# What is fixed is told apart over more updates than what to expect: those of one size in a row must not hide it.
_LONG_MEMORY = 0.97
# Sizes that differ by less, as a relative variance, are one size.
_ONE_SIZE = 0.01
# Updates grow by this factor where nobody knows what larger ones take: twice, and something for uneven sizes.
_STEP = 2.2
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

    @property
    def certainly_fixed(self) -> float:
        """What of an update's time is fixed beyond doubt, however much data it takes."""
        ...

    @property
    def told_fixed(self) -> tuple[float, float] | None:
        """What of an update's time is fixed by all that is known, and the standard error of that; None if nothing is.

        It may be less than nothing, by chance: the mean of many tables is right all the same.
        """
        ...

    def data_within(self, seconds: float, *, freely: float) -> float:
        """How much data an update takes that ends in that time, as far as can be told.

        No more than a step beyond what updates have had: what one takes that is many times as large as any before is
        anybody's guess. While nobody can tell fixed costs from others, `freely` much is tried unless it takes long.
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

    @property
    def certainly_fixed(self) -> float:
        return self.alpha

    @property
    def told_fixed(self) -> tuple[float, float] | None:
        return self.alpha, 0.0

    def data_within(self, seconds: float, *, freely: float) -> float:  # noqa: ARG002 - what any size takes is known
        return (seconds - self.alpha) / self.beta if self.beta > 0.0 else math.inf

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
    seen: float = 0.0
    inverse: float = 0.0
    inverse_n: float = 0.0
    inverse_e: float = 0.0
    inverse_nn: float = 0.0
    inverse_ne: float = 0.0
    inverse_ee: float = 0.0
    """The same sums over more updates, each divided by the square of what it took: updates stray in proportion to what
    they take, and the small ones tell what is fixed."""

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
        # An exception counts for no more than any other update.
        level = max(execution, SHORTEST if self.weight == 0.0 else self.expected(n))
        inverse = 1.0 / (level * level)
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
            seen=self.seen * _LONG_MEMORY + 1.0,
            inverse=self.inverse * _LONG_MEMORY + inverse,
            inverse_n=self.inverse_n * _LONG_MEMORY + inverse * n,
            inverse_e=self.inverse_e * _LONG_MEMORY + inverse * execution,
            inverse_nn=self.inverse_nn * _LONG_MEMORY + inverse * n * n,
            inverse_ne=self.inverse_ne * _LONG_MEMORY + inverse * n * execution,
            inverse_ee=self.inverse_ee * _LONG_MEMORY + inverse * execution * execution,
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
        if weight <= SEASONED:
            return mean_e, 0.0
        variance = self.sum_nn / weight - mean_n * mean_n
        left_over = max(0.0, self.sum_ee / weight - mean_e * mean_e - beta * (self.sum_ne / weight - mean_n * mean_e))
        # The standard error of the slope of a line through so many points.
        error = math.sqrt(left_over / (weight - 2.0) / variance) if variance > 0.0 else math.inf
        beta = max(0.0, beta - _ERRORS * error)
        return mean_e - beta * mean_n, beta

    @property
    def certainly_fixed(self) -> float:
        if self.weight == 0.0:
            return 0.0 if self.is_guess else self.prior_alpha
        return self._fixed or 0.0

    def data_within(self, seconds: float, *, freely: float) -> float:
        if self.weight == 0.0:
            return freely if self.is_guess else GivenCost(*self.coefficients).data_within(seconds, freely=freely)
        if self.sum_n <= 0.0:
            return freely
        # What a second of data was loaded with, in the mean, and in which time: many small updates hide no large one.
        size, took = self.sum_nn / self.sum_n, max(self.sum_ne / self.sum_n, SHORTEST)
        speed, step = size / took, _STEP * size
        if self.seen <= SEASONED:
            return max(speed * seconds, min(max(freely, step), speed * LONGEST_PIECE))
        fixed = self._fixed
        if fixed is None:
            # Only another size tells, be it that it takes long.
            return max(speed * seconds, step)
        slope = (self.inverse_e - fixed * self.inverse) / self.inverse_n
        return min((seconds - fixed) / slope if slope > 0.0 else math.inf, max(freely, step))

    @property
    def _fixed(self) -> float | None:
        """What of each update is fixed at least, by a line through updates of different sizes; None without these."""
        told = self.told_fixed
        if told is None or self.seen <= SEASONED:
            return None
        alpha, error = told
        return max(0.0, alpha - (_FEW_ERRORS + _DOUBTS / (self.seen - 2.0)) * error)

    @property
    def told_fixed(self) -> tuple[float, float] | None:
        if self.weight == 0.0:
            return None if self.is_guess else (self.prior_alpha, 0.0)
        weight, per, per_n, per_nn = self.seen, self.inverse, self.inverse_n, self.inverse_nn
        determinant = per * per_nn - per_n * per_n
        if weight <= SEASONED or determinant <= _ONE_SIZE * per_n * per_n:
            return None
        alpha = (per_nn * self.inverse_e - per_n * self.inverse_ne) / determinant
        beta = (per * self.inverse_ne - per_n * self.inverse_e) / determinant
        off = max(0.0, self.inverse_ee - alpha * self.inverse_e - beta * self.inverse_ne)
        error = math.sqrt(off / (weight - 2.0) * per_nn / determinant)
        return self.inverse_e / per if beta < 0.0 else alpha, error

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
