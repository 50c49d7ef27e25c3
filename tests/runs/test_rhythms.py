"""What is known of how a feed delivers: declared, learnt from what came, or neither."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.feeds import DeclaredRhythm, Settling
from freshtide.core.health import ArrivalTimes, Rhythm, health_at
from freshtide.runs.rhythms import FeedRhythm, KnownBy, rhythm_from, rhythm_of, seen_after
from tests.observe.shop import NOON, Shop

from ..core.declared import feed

MINUTE, HOUR = 60.0, 3600.0
POLL = 0.1


def came(
    files: int = 40,
    *,
    period: float = 5 * MINUTE,
    late: Callable[[int], float] = lambda number: number % 5,
    old: float = 30.0,
) -> list[ArrivalTimes]:
    """Files that are due at every full period before noon, and come so late, each stamped so long before it is due."""
    due = [NOON + (number - files) * period for number in range(files)]
    return [ArrivalTimes(at=moment + late(number), timestamp=moment - old) for number, moment in enumerate(due)]


def found(arrivals: list[ArrivalTimes], **declared: Any) -> FeedRhythm:
    rhythm = rhythm_from(feed(**declared), arrivals, poll=POLL)
    assert rhythm is not None
    return rhythm


def phase_of(rhythm: Rhythm) -> float:
    """Seconds into the period."""
    assert rhythm.phase is not None
    return (rhythm.phase - NOON) % rhythm.period


def known(found: FeedRhythm) -> list[str]:
    return [str(found.known_by[name]) for name in ("period", "phase", "arrival_jitter", "timestamp_jitter")]


def test_a_rhythm_is_learnt_from_the_files_that_came() -> None:
    learnt = found(came())
    assert known(learnt) == ["learnt"] * 4
    rhythm = learnt.rhythm
    assert rhythm.period == pytest.approx(5 * MINUTE)
    assert 4.0 <= phase_of(rhythm) <= 6.0, "the latest came four seconds after the full period"
    assert 4.0 <= rhythm.arrival_jitter <= 8.0
    assert rhythm.timestamp_jitter is not None
    assert 34.0 <= rhythm.timestamp_jitter <= 36.0
    assert 28.0 <= rhythm.least_age <= 30.0
    assert rhythm.stamp_spread == pytest.approx(rhythm.arrival_jitter + rhythm.timestamp_jitter - rhythm.least_age)


def test_of_a_declared_jitter_files_may_be_of_any_age_up_to_it() -> None:
    rhythm = found(came(), timestamp_jitter=MINUTE).rhythm
    assert rhythm.least_age == 0.0
    assert rhythm.stamp_spread >= MINUTE


def test_what_is_declared_counts_and_is_widened_by_how_long_files_take_to_be_seen() -> None:
    declared = found(
        came(),
        period=HOUR,
        phase=5 * MINUTE,
        jitter=MINUTE,
        timestamp_jitter=2 * MINUTE,
        settling=Settling(quiet=3.0),
    )
    assert declared.declared
    seen = 3.0 + POLL
    assert declared.rhythm == Rhythm(
        period=HOUR, phase=5 * MINUTE + seen, arrival_jitter=MINUTE + seen, timestamp_jitter=2 * MINUTE + seen
    )


def test_a_file_with_a_marker_is_seen_with_the_next_poll() -> None:
    assert seen_after(feed(settling=Settling(marker="{name}.done")), POLL) == POLL


def test_a_declared_jitter_of_almost_the_period_is_widened_to_the_period_and_no_further() -> None:
    assert found([], period=10.0, jitter=9.5).rhythm.arrival_jitter == 10.0
    assert found([], period=2 / 3, jitter=2 / 3).rhythm.arrival_jitter == 2 / 3


def test_each_value_is_declared_or_learnt_by_itself() -> None:
    mixed = found(came(), period=5 * MINUTE, jitter=20.0, settling=Settling(quiet=0.0))
    assert known(mixed) == ["declared", "learnt", "declared", "learnt"]
    assert mixed.rhythm.arrival_jitter == 20.0 + POLL
    assert 4.0 <= phase_of(mixed.rhythm) <= 6.0
    assert not mixed.declared


def test_with_a_declared_phase_the_jitter_is_how_long_before_it_files_came() -> None:
    mixed = found(came(), period=5 * MINUTE, phase=10.0, settling=Settling(quiet=0.0))
    assert known(mixed) == ["declared", "declared", "learnt", "learnt"]
    assert 10.0 <= mixed.rhythm.arrival_jitter <= 13.0, "the earliest came with the full period"


def test_with_few_files_and_a_declared_period_nothing_else_is_held_against_the_feed() -> None:
    assumed = found(came(3), period=5 * MINUTE)
    assert known(assumed) == ["declared", "assumed", "assumed", "assumed"]
    assert assumed.rhythm == Rhythm(period=5 * MINUTE, phase=None, arrival_jitter=5 * MINUTE, timestamp_jitter=None)


@pytest.mark.parametrize(
    "arrivals",
    [[], came(3), [ArrivalTimes(at=NOON, timestamp=NOON - number * HOUR) for number in range(50)]],
    ids=["none", "three", "all at once"],
)
def test_without_a_period_and_enough_files_there_is_no_rhythm(arrivals: list[ArrivalTimes]) -> None:
    assert rhythm_from(feed(), arrivals, poll=POLL) is None


def test_files_that_come_anyhow_have_no_rhythm() -> None:
    rng = random.Random(7)
    moment, arrivals = NOON, []
    for _ in range(100):
        moment += rng.expovariate(1 / MINUTE)
        arrivals.append(ArrivalTimes(at=moment, timestamp=moment))
    assert rhythm_from(feed(), arrivals, poll=POLL) is None


def test_files_that_come_at_another_pace_than_declared_may_come_at_any_time() -> None:
    rhythm = found(came(200, period=4 * MINUTE + 7.0), period=5 * MINUTE).rhythm
    assert rhythm.arrival_jitter > 4.5 * MINUTE


def test_a_night_without_a_run_changes_nothing() -> None:
    evening = came(60)
    night = [
        ArrivalTimes(at=NOON + 12 * HOUR + 3.0, timestamp=NOON + number * 5 * MINUTE - 30.0)
        for number in range(12 * 12)
    ]
    day = [replace(file, at=file.at + 17 * HOUR, timestamp=(file.timestamp or 0.0) + 17 * HOUR) for file in evening]
    assert found([*evening, *night, *day]).rhythm.period == pytest.approx(found(evening).rhythm.period)
    again, before = found([*evening, *night, *day]).rhythm, found(evening).rhythm
    assert phase_of(again) == pytest.approx(phase_of(before), abs=0.5)
    assert again.arrival_jitter == pytest.approx(before.arrival_jitter, abs=0.5)
    assert again.timestamp_jitter == pytest.approx(before.timestamp_jitter, abs=0.5)


def test_a_file_that_came_far_off_its_time_does_not_make_that_the_rule() -> None:
    late = found(came(late=lambda number: 70.0 if number == 20 else number % 5)).rhythm
    assert late.arrival_jitter <= 10.0
    assert not health_at(late, [ArrivalTimes(at=NOON + 70.0, timestamp=NOON)], NOON + 70.0).healthy


def test_hundreds_of_uneven_periods_do_not_smear_the_phase() -> None:
    rng = random.Random(11)
    uneven = came(400, late=lambda _: rng.uniform(0.0, 12.0))
    rhythm = found(uneven).rhythm
    assert rhythm.arrival_jitter <= 30.0
    assert rhythm.period == pytest.approx(5 * MINUTE, abs=0.1)


def test_files_around_the_full_period_are_close_to_each_other() -> None:
    astride = came(late=lambda number: number % 9 - 4.0)
    rhythm = found(astride, period=5 * MINUTE).rhythm
    assert 8.0 <= rhythm.arrival_jitter <= 13.0


@given(
    st.integers(min_value=10, max_value=3600),
    st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=20, max_size=60),
    st.floats(min_value=0.0, max_value=0.2),
    st.floats(min_value=0.0, max_value=86_400.0),
    st.booleans(),
)
def test_a_feed_that_keeps_a_rhythm_is_healthy_by_the_rhythm_that_is_declared_or_learnt(
    period: float, shares: list[float], jitter: float, phase: float, declared: bool
) -> None:
    """Seen through settling and polling, and whatever the jitter within a fifth of the period is like."""
    settling = Settling(quiet=1.0)
    times: dict[str, Any] = {"settling": settling, "period": float(period)}
    if declared:
        times |= {"phase": phase, "jitter": jitter * period, "timestamp_jitter": 10.0}
    arrivals = []
    for number, share in enumerate(shares):
        there = NOON // period * period + phase + number * period - share * jitter * period
        seen = there + settling.quiet + share * POLL
        arrivals.append(ArrivalTimes(at=seen, timestamp=there - 10.0 * share))
    rhythm = found(arrivals, **times).rhythm
    last = arrivals[-1].at
    if declared:
        assert all(health_at(rhythm, arrivals, file.at).healthy for file in arrivals)
    else:
        # What lies far out is not learnt, so a few may be judged off their time.
        healthy = sum(health_at(rhythm, [file], file.at).healthy for file in arrivals)
        assert healthy >= 0.75 * len(arrivals)
    assert not health_at(rhythm, arrivals, last + 2 * period + 20.0).healthy


def test_the_rhythm_of_a_feed_comes_from_its_files_in_the_catalog(shop: Shop) -> None:
    for number in range(40):
        shop.arrives("orders", f"{number}.csv", number * 4 * MINUTE, at=number * 4 * MINUTE + number % 3)
    feed = replace(shop.project.feeds["orders_feed"], rhythm=DeclaredRhythm())
    learnt = rhythm_of(feed, shop.catalog, poll=POLL)
    assert learnt is not None
    assert learnt.rhythm.period == pytest.approx(4 * MINUTE)
    assert set(learnt.known_by.values()) == {KnownBy.LEARNT}
    assert rhythm_of(replace(feed, name="nobody"), shop.catalog, poll=POLL) is None
