from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from freshtide.core.errors import TimestampError
from freshtide.core.instants import (
    datetime_at,
    datetime_of,
    format_instant,
    micros,
    micros_of,
    parse_instant,
    seconds,
)

# Float seconds tell microseconds apart up to 2**32 seconds from the epoch: from 1834 to 2106.
REPRESENTABLE = st.integers(-(2**32) * 1_000_000 + 1, 2**32 * 1_000_000 - 1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(REPRESENTABLE)
@example(-1)
@example(0)
@example(3_599_999_999)
@example(4_102_444_799_999_999)
def test_microseconds_survive_the_way_through_float_seconds(instant: int) -> None:
    assert micros(seconds(instant)) == instant


@given(REPRESENTABLE)
def test_a_datetime_of_float_seconds_is_exact_to_the_microsecond(instant: int) -> None:
    assert datetime_of(seconds(instant)) == EPOCH + timedelta(microseconds=instant)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_datetime_and_its_whole_microseconds_are_the_same_instant_in_any_year(moment: datetime) -> None:
    assert datetime_at(micros_of(moment)) == moment


@given(REPRESENTABLE)
def test_a_formatted_instant_is_read_back_exactly(instant: int) -> None:
    assert micros(parse_instant(format_instant(seconds(instant)))) == instant


@given(st.datetimes(), st.integers(-14 * 60, 14 * 60))
def test_a_zone_moves_an_instant_by_its_offset(moment: datetime, minutes: int) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert micros_of(zoned) == micros_of(moment) - minutes * 60 * 1_000_000


def test_an_instant_is_written_with_as_many_decimals_as_it_needs() -> None:
    assert format_instant(parse_instant("2026-05-01T12:00:00Z")) == "2026-05-01T12:00:00Z"
    assert format_instant(parse_instant("2026-05-01T12:00:00.25Z")) == "2026-05-01T12:00:00.250000Z"


def test_a_timestamp_without_a_zone_is_utc() -> None:
    assert parse_instant(" 1970-01-02 ") == 86_400
    assert parse_instant("1969-12-31T23:59:59") == -1
    assert parse_instant("1970-01-01T02:00:00+02:00") == 0


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "12:00"])
def test_what_is_no_timestamp_is_refused_by_name(text: str) -> None:
    with pytest.raises(TimestampError, match=f"'{text}'"):
        parse_instant(text)
