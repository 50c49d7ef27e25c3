"""Which keys update, and how often: the distributions of Moga et al. 2009."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence


def equal(keys: int) -> list[float]:
    """All keys update equally often."""
    return [1.0] * keys


def two_classes(*, fast: int, slow: int, ratio: float) -> list[float]:
    """Fast keys update so many times as often as slow ones, which come last (section 5.3)."""
    return [ratio] * fast + [1.0] * slow


def zipf(keys: int, theta: float) -> list[float]:
    """The i-th key updates in proportion to 1 / i^theta: all alike with 0, very unequal with 0.9 (section 7.3)."""
    return [1.0 / rank**theta for rank in range(1, keys + 1)]


def drawn(weights: Sequence[float], rng: random.Random) -> Iterator[int]:
    """For ever the number of the key that updates next, independently of those before (section 5.2)."""
    cumulated = list(itertools.accumulate(weights))
    numbers = range(len(weights))
    while True:
        # A thousand at once, because each call prepares anew.
        yield from rng.choices(numbers, cum_weights=cumulated, k=1_000)


def round_robin(keys: int) -> Iterator[int]:
    """One key after the other, always in the same order: the uniform arrival order of section 6.3.2."""
    return itertools.cycle(range(keys))
