"""How many keys to process together, so that on average each of them is done soonest."""

from __future__ import annotations

import math

from freshtide.core.costs import Cost, CostModel


def mean_completion(residents: int, batch: int, alpha: float, beta: float) -> float:
    """When a resident is done on average, if batches of n take alpha + beta * n seconds and are of this size."""
    full, rest = divmod(residents, batch)
    each = alpha + beta * batch
    total = batch * each * full * (full + 1) / 2 + rest * (full * each + alpha + beta * rest)
    return total / residents


def best_batch(residents: int, alpha: float, beta: float) -> int:
    """The batch size with which residents are done soonest on average: about sqrt(residents * alpha / beta).

    Of R residents in batches of n, those of the j-th batch are done after j * (alpha + beta * n). There are R / n
    batches, so the mean is (alpha + beta * n) * (R / n + 1) / 2, that is

        (alpha * R / n + beta * n + alpha + beta * R) / 2

    The first term falls with n, the second one rises, and the sum is least where both are equal. A large batch shares
    its fixed cost among many keys, a small one lets the first keys go early.
    """
    if residents <= 1:
        return 1
    if beta <= 0.0:
        return residents
    ideal = min(max(math.sqrt(residents * alpha / beta), 1.0), float(residents))
    return min(math.floor(ideal), math.ceil(ideal), key=lambda n: mean_completion(residents, n, alpha, beta))


class BatchSizes:
    """Batch sizes that follow the cost as measured."""

    def __init__(self, cost: Cost | None = None, *, most: int | None = None, overhead: float = 0.0) -> None:
        """A batch takes `overhead` at least, however few its keys.

        Few measurements can suggest that it takes nothing: then keys would be processed one by one.
        """
        self._cost: Cost = cost or CostModel()
        self._most = most
        self._overhead = overhead

    @property
    def cost(self) -> Cost:
        """Of a batch, by its number of keys."""
        return self._cost

    def size(self, residents: int) -> int:
        """How many of the residents to take next."""
        alpha, beta = self._cost.coefficients
        best = best_batch(residents, max(alpha, self._overhead), beta)
        return best if self._most is None else min(best, self._most)

    def observe(self, keys: int, seconds: float) -> None:
        """A batch of so many keys took so long."""
        self._cost = self._cost.observed(keys, seconds)
