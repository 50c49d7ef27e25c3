from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from freshtide.core.grains import CALENDAR_UNITS, INSTANT, Grain
from freshtide.core.instants import micros_of

IN_THE_CALENDAR = st.datetimes(timezones=st.just(UTC)).map(micros_of)
# A revision of all rows goes back to before every calendar.
INSTANTS = st.one_of(IN_THE_CALENDAR, st.integers(-(2**62) - 1, 2**62))
WIDTHS = st.one_of(st.integers(1, 10**13), st.sampled_from([1, 10**6, 60 * 10**6, 3_600 * 10**6, 86_400 * 10**6]))
GRAINS = st.one_of(WIDTHS.map(Grain), st.sampled_from(CALENDAR_UNITS).map(lambda unit: Grain(unit=unit)))


@given(GRAINS, INSTANTS)
def test_the_floor_is_at_or_before_the_instant_and_starts_a_bucket(grain: Grain, at: int) -> None:
    start = grain.floor(at)
    assert start <= at
    assert grain.floor(start) == start
    assert grain.ceil(start) == start


@given(GRAINS, INSTANTS)
def test_the_ceiling_is_the_next_bucket_start_unless_the_instant_is_one(grain: Grain, at: int) -> None:
    start, end = grain.floor(at), grain.ceil(at)
    assert end >= at
    assert (end == at) == (start == at)
    if end > at:
        assert grain.floor(end) == end
        assert grain.floor(end - 1) == start, "no bucket starts between the two"


@given(GRAINS, INSTANTS, st.integers(0, 10**12))
def test_floor_and_ceiling_never_go_back_as_time_goes_on(grain: Grain, at: int, later: int) -> None:
    assert grain.floor(at) <= grain.floor(at + later)
    assert grain.ceil(at) <= grain.ceil(at + later)


@given(WIDTHS, INSTANTS)
def test_buckets_of_a_width_are_aligned_to_the_epoch(width: int, at: int) -> None:
    assert Grain(width).floor(at) % width == 0
    assert at - Grain(width).floor(at) < width


@given(IN_THE_CALENDAR)
@example(micros_of(datetime(2200, 1, 1, tzinfo=UTC)) - 1)
@example(micros_of(datetime(9000, 7, 1, tzinfo=UTC)) - 1)
@example(micros_of(datetime(1960, 2, 29, 12, tzinfo=UTC)))
def test_calendar_buckets_are_those_of_the_calendar(at: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = day - timedelta(days=moment.isoweekday() - 1)
    first = day.replace(day=1)
    assert Grain(unit="week").floor(at) == micros_of(monday)
    assert Grain(unit="month").floor(at) == micros_of(first)
    assert Grain(unit="quarter").floor(at) == micros_of(first.replace(month=(1, 4, 7, 10)[(first.month - 1) // 3]))
    assert Grain(unit="year").floor(at) == micros_of(first.replace(month=1))


@pytest.mark.parametrize(
    ("unit", "start", "end"),
    [
        ("week", "2026-05-04", "2026-05-11"),
        ("month", "2026-05-01", "2026-06-01"),
        ("month", "2024-02-01", "2024-03-01"),
        ("month", "2026-12-01", "2027-01-01"),
        ("quarter", "2026-10-01", "2027-01-01"),
        ("year", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_calendar_bucket_ends_where_the_next_begins(unit: str, start: str, end: str) -> None:
    first, last = (micros_of(datetime.fromisoformat(day)) for day in (start, end))
    grain = Grain(unit=unit)
    assert grain.ceil(first + 1) == last
    assert grain.ceil(last - 1) == last
    assert grain.floor(last - 1) == first


@given(INSTANTS)
def test_in_the_grain_of_instants_every_instant_is_a_bucket(at: int) -> None:
    assert INSTANT.is_instant
    assert INSTANT.floor(at) == INSTANT.ceil(at) == at


@pytest.mark.parametrize("unit", ["microsecond", "millisecond", "second", "minute", "hour", "day", "DAY", "dd"])
def test_short_date_trunc_units_have_a_fixed_width(unit: str) -> None:
    grain = Grain.of_unit(unit)
    assert grain is not None
    assert grain.unit is None
    assert grain.width > 0


def test_date_trunc_knows_its_units_by_all_their_names() -> None:
    assert Grain.of_unit("Mon") == Grain.of_unit("MM") == Grain.of_unit("month") == Grain(unit="month")
    assert Grain.of_unit("yyyy") == Grain.of_unit("YY") == Grain.of_unit("year") == Grain(unit="year")
    assert Grain.of_unit("hour") == Grain.of_seconds(3_600)
    assert Grain.of_unit("century") is None
