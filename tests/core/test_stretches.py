"""How stale a table was over a stretch of time, held against a sum over many small steps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.staleness import Stretch, stretch_of

# Moments lie on a grid of halves, so that the middle of each step of a quarter is on one straight piece: there a
# sum over the middles is the integral to the last digit.
STEP = 0.25
MOMENTS = st.integers(-40, 200).map(lambda halves: halves / 2)
FRESHNESS = st.none() | st.integers(-100, 220).map(lambda halves: halves / 2)
COMMITS = st.lists(st.tuples(MOMENTS, FRESHNESS), max_size=12).map(lambda found: sorted(found, key=lambda it: it[0]))
TARGETS = st.none() | st.integers(1, 60).map(lambda halves: halves / 2)


def summed(
    freshness: float | None,
    commits: list[tuple[float, float | None]],
    since: float,
    until: float,
    target: float | None,
) -> Stretch | None:
    """The same by looking at every moment, with all that was committed before it."""
    first: float | None = None
    length = staleness = lateness = within = 0.0
    for number in range(math.ceil((until - since) / STEP)):
        at = since + (number + 0.5) * STEP
        fresh = freshness
        for moment, reached in commits:
            if moment <= at:
                fresh = reached
        if fresh is None:
            continue
        first = at - STEP / 2 if first is None else first
        stale = max(0.0, at - fresh)
        length += STEP
        staleness += stale * STEP
        if target is not None:
            lateness += max(0.0, stale - target) * STEP
            within += STEP * (stale <= target)
    if first is None:
        return None
    kept = None if target is None else within
    return Stretch(since=first, length=length, staleness=staleness, lateness=lateness, within=kept)


@given(
    freshness=FRESHNESS, commits=COMMITS, since=MOMENTS, length=st.integers(0, 150).map(lambda n: n / 2), target=TARGETS
)
def test_it_is_what_looking_at_every_moment_gives(
    freshness: float | None,
    commits: list[tuple[float, float | None]],
    since: float,
    length: float,
    target: float | None,
) -> None:
    until = since + length
    found = stretch_of(freshness, commits, since=since, until=until, target=target)
    assert found == summed(freshness, commits, since, until, target)


@given(freshness=FRESHNESS, commits=COMMITS, since=MOMENTS, target=TARGETS, cut=st.integers(1, 99))
def test_two_stretches_together_are_the_whole(
    freshness: float | None, commits: list[tuple[float, float | None]], since: float, target: float | None, cut: int
) -> None:
    middle, until = since + cut / 2, since + 50.0
    at_middle = freshness
    for moment, reached in commits:
        if moment <= middle:
            at_middle = reached
    whole = stretch_of(freshness, commits, since=since, until=until, target=target)
    parts = (
        stretch_of(freshness, commits, since=since, until=middle, target=target),
        stretch_of(at_middle, [it for it in commits if it[0] > middle], since=middle, until=until, target=target),
    )
    for name in ("length", "staleness", "lateness"):
        total = sum(getattr(part, name) for part in parts if part is not None)
        assert total == (0.0 if whole is None else getattr(whole, name))


def test_of_an_hour_with_a_target_of_a_quarter() -> None:
    """Loaded at the full hour, it is within 15 minutes for 15 of them; loaded again 20 minutes later, for 30."""
    once = stretch_of(0.0, [], since=0.0, until=3_600.0, target=900.0)
    assert once is not None
    assert (once.share_within, once.mean_staleness) == (0.25, 1_800.0)
    assert once.mean_lateness == pytest.approx(2_700.0**2 / 2 / 3_600.0)
    twice = stretch_of(0.0, [(1_200.0, 1_200.0)], since=0.0, until=3_600.0, target=900.0)
    assert twice is not None
    assert twice.share_within == 0.5


def test_a_target_that_is_always_kept_is_kept_to_the_last_digit() -> None:
    commits = [(0.1 * number, 0.1 * number) for number in range(1, 1_000)]
    found = stretch_of(0.0, commits, since=0.05, until=100.0, target=7.0)
    assert found is not None
    assert (found.share_within, found.lateness) == (1.0, 0.0)


def test_without_data_there_is_nothing_to_tell() -> None:
    assert stretch_of(None, [], since=0.0, until=10.0, target=1.0) is None
    assert stretch_of(1.0, [], since=10.0, until=10.0, target=1.0) is None
    found = stretch_of(None, [(4.0, 4.0)], since=0.0, until=10.0, target=None)
    assert found is not None
    assert (found.since, found.length, found.within, found.share_within) == (4.0, 6.0, None, None)
