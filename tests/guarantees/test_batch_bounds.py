"""In every run within the assumptions no bound of Bateni et al. 2009 is exceeded."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.scheduling import ORDERINGS
from tests.guarantees.batchsets import eager_observations, grouped_observations
from tests.guarantees.tablesets import Observed

# Times are sums of floats.
ROUNDING = 1e-9
SETS, PERIODS = 1_000, 1_000
SEEDS = st.integers(min_value=0, max_value=2**32)
NAMES = sorted(ORDERINGS)


def nearest(found: Iterable[Observed]) -> list[Observed]:
    """Of each kind of bound, what came nearest to it."""
    ordered = sorted(found, key=lambda each: each.slack)
    return [next(each for each in ordered if each.what == what) for what in dict.fromkeys(o.what for o in ordered)]


def nearest_of(seed: int) -> list[Observed]:
    eager = eager_observations(seed, ordering=NAMES[seed % len(NAMES)], periods=PERIODS)
    return nearest([*eager, *grouped_observations(seed, periods=PERIODS)])


@given(SEEDS, st.sampled_from(NAMES))
def test_theorem_3_1_bounds_the_penalty_of_every_eager_scheduler(seed: int, ordering: str) -> None:
    for each in eager_observations(seed, ordering=ordering, periods=60):
        assert each.slack >= -ROUNDING, each


@given(SEEDS)
def test_lemma_4_2_and_theorems_4_3_and_5_1_hold_in_every_group(seed: int) -> None:
    for each in grouped_observations(seed, periods=60):
        assert each.slack >= -ROUNDING, each


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_no_bound_is_exceeded_in_a_thousand_sets_over_a_thousand_periods(capsys: pytest.CaptureFixture[str]) -> None:
    with ProcessPoolExecutor() as pool:
        found = nearest(each for part in pool.map(nearest_of, range(SETS), chunksize=10) for each in part)
    lines = [f"  {each.what:<21} {each.slack:6.1%}  ({each.value:.4g} of {each.bound:.4g})" for each in found]
    report = "\n".join([f"\nSmallest slack in {SETS:,} sets of tables over {PERIODS:,} periods:", *lines])
    with capsys.disabled():
        print(report)  # noqa: T201 - the slack found is what this test is run for, besides that there is some
    assert {each.what for each in found} == {
        "penalty of the eager",
        "tight interval",
        "wait",
        "stretch",
        "sharper stretch",
        "staleness",
        "weighted staleness",
        "weighted ratio",
    }
    for each in found:
        assert each.slack >= -ROUNDING, each
