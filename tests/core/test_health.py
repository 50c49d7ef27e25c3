"""The health of feeds, with Example 1 of Leontyev et al. 2010 and the invariants of Definition 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.health import Ailment, ArrivalTimes, Rhythm, health_at, outage_at

PUNCTUAL = Rhythm(period=3.0, phase=1.0, arrival_jitter=0.0, timestamp_jitter=0.0)
"""Both feeds of Example 1 are to deliver so."""
FIRST_FEED = [ArrivalTimes(at=at, timestamp=ts) for at, ts in ((1, 1), (10, 4), (10, 7), (10, 10), (13, 13), (16, 16))]
SECOND_FEED = [ArrivalTimes(at=1.0 + 3 * j, timestamp=1.0 + 3 * j) for j in range(6)]
NOON = 1_777_636_800.0  # 2026-05-01T12:00:00Z


def hourly(**changes: float | None) -> Rhythm:
    """A file each hour, there by five past, at most two minutes earlier, with rows up to ten minutes old."""
    given: dict[str, Any] = {"period": 3600.0, "phase": 300.0, "arrival_jitter": 120.0, "timestamp_jitter": 600.0}
    return Rhythm(**(given | changes))


def came(*minutes: tuple[float, float | None]) -> list[ArrivalTimes]:
    """Files by the minutes after noon of their arrival and of their time stamp."""
    return [ArrivalTimes(at=NOON + 60 * at, timestamp=None if ts is None else NOON + 60 * ts) for at, ts in minutes]


def ailment(rhythm: Rhythm, arrivals: Sequence[ArrivalTimes], minutes: float) -> Ailment | None:
    return health_at(rhythm, arrivals, NOON + 60 * minutes).ailment


def test_example_1_the_feed_that_delivers_every_three_units_is_healthy_from_its_first_file_on() -> None:
    assert not health_at(PUNCTUAL, SECOND_FEED, 0.5).healthy
    assert all(health_at(PUNCTUAL, SECOND_FEED, tenth / 10).healthy for tenth in range(10, 190))


def test_example_1_the_other_feed_is_down_between_4_and_10() -> None:
    assert all(health_at(PUNCTUAL, FIRST_FEED, now).healthy for now in (1.0, 2.5, 4.0))
    for now in (4.1, 7.0, 9.9):
        assert health_at(PUNCTUAL, FIRST_FEED, now).ailment is Ailment.SILENT
    assert all(health_at(PUNCTUAL, FIRST_FEED, now).healthy for now in (10.0, 12.9, 19.0))


def test_example_1_what_came_all_at_once_would_not_do_without_the_file_that_is_stamped_in_time() -> None:
    backed_up = [arrival for arrival in FIRST_FEED if arrival.timestamp in (1, 4, 7)]
    assert (
        health_at(PUNCTUAL, backed_up, 10.0).reason == "its last file is stamped 3s before it came, and 0s is the most"
    )


def test_example_1_the_silence_between_1_and_10_is_an_outage_that_begins_at_4() -> None:
    assert outage_at(PUNCTUAL, 1.0, 4.0) is None, "a silence of just the period is none"
    outage = outage_at(PUNCTUAL, 1.0, 7.0)
    assert outage is not None
    assert (outage.silent_since, outage.began_at, outage.ended_at) == (1.0, 4.0, None)
    assert outage.length(7.0) == 6.0


def test_a_feed_that_never_delivered_is_silent() -> None:
    verdict = health_at(hourly(), [], NOON)
    assert (verdict.ailment, verdict.reason) == (Ailment.SILENT, "no file has come yet")


def test_files_that_are_still_to_come_do_not_count() -> None:
    assert ailment(hourly(), came((5, 0), (65, 60)), 4) is Ailment.SILENT


@pytest.mark.parametrize(
    ("minute", "reason"), [(2, "1m too early"), (6, "1m too late"), (20, "15m too late"), (50, "13m too early")]
)
def test_a_file_outside_its_time_tells_by_how_much(minute: float, reason: str) -> None:
    verdict = health_at(hourly(), came((minute, minute)), NOON + 60 * minute)
    assert (verdict.ailment, verdict.reason) == (Ailment.OFF_TIME, f"its last file came {reason}")


@pytest.mark.parametrize("minute", [3, 4, 5])
def test_the_whole_interval_before_the_due_time_is_on_time(minute: float) -> None:
    assert ailment(hourly(), came((minute, minute)), minute) is None


@pytest.mark.parametrize(
    ("stamp", "reason"),
    [
        (-7, "its last file is stamped 12m before it came, and 10m is the most"),
        (6, "its last file is stamped 1m after it came"),
        (None, "its last file has no time stamp"),
    ],
)
def test_a_file_with_a_time_stamp_that_does_not_fit_tells_by_how_much(stamp: float | None, reason: str) -> None:
    verdict = health_at(hourly(), came((5, stamp)), NOON + 300)
    assert (verdict.ailment, verdict.reason) == (Ailment.OFF_STAMP, reason)


@pytest.mark.parametrize("stamp", [-5, 0, 5])
def test_a_time_stamp_may_be_as_old_as_the_jitter_says(stamp: float) -> None:
    assert ailment(hourly(), came((5, stamp)), 5) is None


def test_where_nothing_is_known_about_time_stamps_any_old_one_will_do() -> None:
    assert ailment(hourly(timestamp_jitter=None), came((5, -100_000)), 5) is None
    assert ailment(hourly(timestamp_jitter=None), came((5, 6)), 5) is Ailment.OFF_STAMP


def test_where_the_phase_is_not_known_any_moment_is_on_time_and_a_silence_is_still_noticed() -> None:
    rhythm = hourly(phase=None)
    assert all(ailment(rhythm, came((minute, minute)), minute) is None for minute in range(60))
    assert ailment(rhythm, came((0, 0)), 62) is None
    assert ailment(rhythm, came((0, 0)), 63) is Ailment.SILENT


def test_with_a_jitter_of_a_whole_period_any_moment_is_on_time() -> None:
    rhythm = hourly(arrival_jitter=3600.0)
    assert all(ailment(rhythm, came((minute, minute)), minute) is None for minute in range(60))


def test_the_phase_is_any_of_the_moments_at_which_files_are_due() -> None:
    for phase in (300.0, NOON + 300.0, NOON - 10 * 3600.0 + 300.0):
        assert hourly(phase=phase).off_time(NOON + 299.0) == 0.0
        assert hourly(phase=phase).off_time(NOON + 301.0) == 1.0


def test_a_period_below_a_microsecond_is_as_good_as_one() -> None:
    assert hourly(period=1e-8, arrival_jitter=0.0).off_time(NOON) == 0.0


@pytest.mark.parametrize("wrong", [{"arrival_jitter": 3601.0}, {"arrival_jitter": -1.0}, {"period": 0.0}])
def test_a_jitter_beyond_the_period_is_no_rhythm(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="does not fit into a period"):
        hourly(**wrong)


UNITS = st.integers(min_value=0, max_value=100)
PHASES = st.integers(min_value=-500, max_value=500)


@st.composite
def rhythms(draw: st.DrawFn) -> Rhythm:
    period = draw(st.integers(min_value=1, max_value=100))
    return Rhythm(
        period=float(period),
        phase=float(draw(PHASES)),
        arrival_jitter=float(draw(st.integers(min_value=0, max_value=period))),
        timestamp_jitter=float(draw(UNITS)),
    )


def limits(rhythm: Rhythm) -> tuple[float, float]:
    """Phase and time stamp jitter of a rhythm that has both."""
    assert rhythm.phase is not None
    assert rhythm.timestamp_jitter is not None
    return rhythm.phase, rhythm.timestamp_jitter


@st.composite
def deliveries(draw: st.DrawFn, files: int = 8) -> tuple[Rhythm, list[ArrivalTimes]]:
    """A rhythm and the files that a feed brings within it."""
    rhythm = draw(rhythms())
    phase, timestamp_jitter = limits(rhythm)
    share = st.floats(min_value=0.0, max_value=1.0)
    arrivals = []
    for number in range(files):
        at = phase + number * rhythm.period - draw(share) * rhythm.arrival_jitter
        arrivals.append(ArrivalTimes(at=at, timestamp=at - draw(share) * timestamp_jitter))
    return rhythm, arrivals


@given(deliveries(), st.floats(min_value=0.0, max_value=1.0))
def test_a_feed_within_its_rhythm_is_healthy_at_every_moment_after_its_first_file(
    delivery: tuple[Rhythm, list[ArrivalTimes]], moment: float
) -> None:
    rhythm, arrivals = delivery
    first, last = arrivals[0].at, arrivals[-1].at
    assert health_at(rhythm, arrivals, first + moment * (last + rhythm.period - first)).healthy


@given(deliveries(), st.integers(min_value=0, max_value=5), st.integers(min_value=1, max_value=9))
def test_a_feed_that_is_cut_is_unhealthy_from_then_until_it_is_back_on_time(
    delivery: tuple[Rhythm, list[ArrivalTimes]], kept: int, periods: int
) -> None:
    rhythm, arrivals = delivery
    last = arrivals[kept].at
    unhealthy_from = last + rhythm.longest_silence
    back = limits(rhythm)[0] + (kept + 2 + periods) * rhythm.period
    files = [*arrivals[: kept + 1], ArrivalTimes(at=back, timestamp=back)]
    assert health_at(rhythm, files, unhealthy_from).healthy
    for share in (0.001, 0.5, 0.999):
        now = unhealthy_from + share * (back - unhealthy_from)
        assert health_at(rhythm, files, now).ailment is Ailment.SILENT
    assert health_at(rhythm, files, back).healthy


@given(rhythms(), st.lists(st.tuples(UNITS, UNITS), max_size=10), UNITS)
def test_a_feed_in_an_outage_is_silent_and_the_other_way_round(
    rhythm: Rhythm, files: list[tuple[int, int]], later: int
) -> None:
    arrivals = [ArrivalTimes(at=float(at), timestamp=float(ts)) for at, ts in files]
    now = float(later)
    came_last = max((arrival.at for arrival in arrivals if arrival.at <= now), default=-math.inf)
    silent = health_at(rhythm, arrivals, now).ailment is Ailment.SILENT
    assert silent == (came_last == -math.inf or outage_at(rhythm, came_last, now) is not None)


@given(rhythms(), st.lists(st.tuples(UNITS, UNITS), max_size=10), UNITS)
def test_health_is_what_definition_2_says(rhythm: Rhythm, files: list[tuple[int, int]], now: int) -> None:
    """With whole numbers, so that the definition can be written down as it stands, over every j that matters."""
    period, jitter = int(rhythm.period), int(rhythm.arrival_jitter)
    phase, timestamp_jitter = limits(rhythm)
    due = [phase + period * j for j in range(-500 // period, 700 // period + 1)]
    healthy = any(
        now - period - jitter <= at <= now
        and any(moment - jitter <= at <= moment for moment in due)
        and at - timestamp_jitter <= ts <= at
        for at, ts in files
    )
    arrivals = [ArrivalTimes(at=float(at), timestamp=float(ts)) for at, ts in files]
    assert health_at(rhythm, arrivals, float(now)).healthy == healthy
