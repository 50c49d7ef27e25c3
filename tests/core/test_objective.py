"""What staleness costs, against the words of its definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.objective import (
    avoided,
    credited,
    loss,
    most_avoided,
    rank_holds,
    renewed_at,
    waited_at_least,
)

SECONDS = st.floats(0.0, 1e5)
TARGETS = st.floats(0.1, 1e4)
STEPS = 2_000


def integral(start: float, end: float, target: float) -> float:
    """Of the loss, by midpoints."""
    width = (end - start) / STEPS
    return width * sum(loss(start + (step + 0.5) * width, target) for step in range(STEPS))


@pytest.mark.parametrize(("staleness", "lost"), [(0.0, 0.0), (5.0, 0.5), (10.0, 5.0), (20.0, 38.0)])
def test_below_half_of_the_target_staleness_counts_for_what_it_is_and_five_times_as_much_at_it(
    staleness: float, lost: float
) -> None:
    assert loss(staleness, 10.0) == pytest.approx(lost)


@given(share=st.floats(0.0, 10.0), target=TARGETS)
def test_what_counts_is_staleness_in_terms_of_the_target(share: float, target: float) -> None:
    assert loss(share * target, target) == pytest.approx(loss(share, 1.0))


@given(staleness=SECONDS, share=st.floats(0.0, 1.0), target=TARGETS)
def test_what_an_update_avoids_is_what_would_be_lost_more_than_after_it(
    staleness: float, share: float, target: float
) -> None:
    gained = share * staleness
    expected = gained * loss(staleness, target) - integral(staleness - gained, staleness, target)
    assert avoided(staleness, gained, target) == pytest.approx(expected, rel=1e-3, abs=1e-6 * loss(staleness, target))


@given(staleness=SECONDS, more=SECONDS, gained=SECONDS, target=TARGETS)
def test_the_staler_and_the_more_there_is_to_gain_the_more_is_avoided(
    staleness: float, more: float, gained: float, target: float
) -> None:
    gained = min(gained, staleness)
    least = avoided(staleness, gained, target) * (1.0 - 1e-9)
    assert avoided(staleness + more, gained, target) >= least
    assert avoided(staleness + more, min(gained + more, staleness + more), target) >= least


@given(staleness=SECONDS, waited=SECONDS, gained=SECONDS, target=TARGETS, is_cut=st.booleans())
def test_no_update_avoids_more_than_by_its_wait_is_possible(
    staleness: float, waited: float, gained: float, target: float, is_cut: bool
) -> None:
    credit = credited(staleness, waited, target, is_cut=is_cut)
    saved = avoided(credit, min(credit, gained), target)
    assert saved <= most_avoided(waited, target) * (1.0 + 1e-9)
    assert waited_at_least(saved, target) <= waited + 1e-6 * (waited + target)


@given(staleness=SECONDS, waited=SECONDS, target=TARGETS, is_cut=st.booleans())
def test_a_rank_is_never_older_than_it_is_said_to_be(
    staleness: float, waited: float, target: float, is_cut: bool
) -> None:
    """Renewed when it is due, a rank dates from a wait of at least `renewed_at`."""
    due = waited + rank_holds(credited(staleness, waited, target, is_cut=is_cut))
    assert renewed_at(due, target) <= waited + 1e-6 * (due + target)
