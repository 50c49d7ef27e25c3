"""What is predicted of the real runtime, against what it then does, in a simulated world that no machine disturbs."""

from __future__ import annotations

from itertools import product
from statistics import fmean, median

import pytest
from bench.comparing import median_error, ranking
from bench.predicted_worlds import LOADS, observed
from faults.tables import BASES, VIEWS

SEEDS = range(2)
COURSES = (500.0, 1_200.0)


@pytest.mark.slow
@pytest.mark.parametrize("straying", [False, True], ids=["in order", "straying"])
def test_the_staleness_of_the_real_runtime_is_predicted(straying: bool) -> None:
    """From half of what the tracks can do to more than that; what updates take varies a lot, and so do arrivals."""
    worlds = [observed(load, straying, seed, COURSES) for load, seed in product(LOADS, SEEDS)]
    for length in COURSES:
        every = [each for world in worlds for each in world[length]]
        assert len(every) == len(worlds) * len([*BASES, *VIEWS])
        assert median_error(every) <= 0.08, (length, every)
        assert abs(median(each.deviation for each in every)) <= 0.05, "too fresh or too stale by more than chance"
        assert fmean(ranking(world[length]) for world in worlds) >= 0.85, (length, every)
