"""Files that come when it hurts: the purely on-line model (Bateni et al. 2009, sections 1 and 4).

There nothing is promised of the distances between files. This adversary

- draws distances over three orders of magnitude, from a hundredth of the period to ten of them, uniformly in their
  logarithm, so that they are about a period on average;
- lets a minuscule one, a thousandth of the period, follow each that is longer than the period: whether both are loaded
  together or one after the other, the stretch of the second is without bound (section 4);
- releases a file of every table at about the same moment, two thousandths of a period apart at most, every
  sixteen periods: tables with the same period, or with one that divides the other's, find all tracks taken.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

_SHORTEST, _LONGEST = -2.0, 1.0
"""Distances in periods, as powers of ten."""
_MINUSCULE = 0.001
_ROUND = 16
"""Periods from one moment at which all tables release to the next."""


def adversarial(period: float, rng: random.Random) -> Iterator[float]:
    """The moments of the files, each with a distance to the one before, for ever."""
    last, rounds = 0.0, 1
    while True:
        moment = last + period * 10.0 ** rng.uniform(_SHORTEST, _LONGEST)
        together = rounds * _ROUND * period
        if moment >= together:
            # A minuscule one may have come just after that moment already, and 0 is no distance.
            moment = max(last, together) + (1.0 - rng.random()) * _MINUSCULE * period
            rounds += 1
        yield moment
        if moment - last > period:
            moment += _MINUSCULE * period
            yield moment
        last = moment
