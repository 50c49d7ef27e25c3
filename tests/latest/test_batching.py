"""Batch sizes against all others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.costs import GivenCost
from freshtide.latest.batching import BatchSizes, best_batch


def _mean_completion(residents: int, batch: int, alpha: float, beta: float) -> float:
    """One batch after the other; all keys of a batch are done when it ends."""
    now, total, left = 0.0, 0.0, residents
    while left:
        taken = min(batch, left)
        now += alpha + beta * taken
        total += taken * now
        left -= taken
    return total / residents


@given(st.integers(1, 200), st.floats(0.0, 10.0), st.floats(0.001, 10.0))
def test_no_other_size_is_much_better(residents: int, alpha: float, beta: float) -> None:
    best = min(_mean_completion(residents, batch, alpha, beta) for batch in range(1, residents + 1))
    chosen = best_batch(residents, alpha, beta)
    assert 1 <= chosen <= residents
    # A last batch that is not full is beyond the formula.
    assert _mean_completion(residents, chosen, alpha, beta) <= 1.05 * best


def test_among_sizes_that_leave_no_rest_the_choice_is_the_best() -> None:
    by_size = {batch: _mean_completion(400, batch, 4.0, 1.0) for batch in range(1, 401) if 400 % batch == 0}
    assert best_batch(400, 4.0, 1.0) == min(by_size, key=lambda batch: by_size[batch])


def test_all_at_once_if_a_key_costs_nothing_and_one_by_one_if_a_batch_does() -> None:
    assert best_batch(50, 1.0, 0.0) == 50
    assert best_batch(50, 0.0, 1.0) == 1


def test_sizes_follow_the_cost_as_measured_up_to_a_most() -> None:
    sizes = BatchSizes()
    for keys in (10, 100, 1_000, 50):
        sizes.observe(keys, 4.0 + 1.0 * keys)
    assert sizes.size(400) == pytest.approx(40, abs=1)
    assert BatchSizes(GivenCost(1.0, 0.0), most=25).size(400) == 25


def test_a_batch_is_never_taken_to_cost_nothing_by_itself() -> None:
    measured = BatchSizes(overhead=0.04)
    for keys in (10, 20, 30):
        measured.observe(keys, 0.001 * keys)
    assert measured.size(100) == best_batch(100, 0.04, 0.001)
