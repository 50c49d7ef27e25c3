from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.errors import FreshtideError
from freshtide.core.instants import micros, micros_of, parse_instant, seconds
from freshtide.feeds import check_time_format, parser

MOMENTS = st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1))
HALF_PAST = parse_instant("2024-05-01T13:30:00Z")


@pytest.mark.parametrize(
    ("time_format", "text", "expected"),
    [
        (None, "2024-05-01", "2024-05-01T00:00:00Z"),
        (None, "2024-05-01 13:30:00.123456", "2024-05-01T13:30:00.123456Z"),
        (None, " 2024-05-01T13:30:00Z ", "2024-05-01T13:30:00Z"),
        (None, "2024-05-01T15:30:00+02:00", "2024-05-01T13:30:00Z"),
        ("epoch_seconds", "1714570200", "2024-05-01T13:30:00Z"),
        ("epoch_seconds", "1714570200.000001", "2024-05-01T13:30:00.000001Z"),
        ("epoch_millis", "1714570200123.5", "2024-05-01T13:30:00.123500Z"),
        ("yyyy-MM-dd HH:mm:ss", "2024-05-01 13:30:00", "2024-05-01T13:30:00Z"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-05-01T15:30:00.1+02:00", "2024-05-01T13:30:00.100000Z"),
        ("yyyyMMddHHmmss", "20240501133000", "2024-05-01T13:30:00Z"),
        ("dd/MM/yy hh:mm a", "01/05/24 01:30 pm", "2024-05-01T13:30:00Z"),
        ("dd/MM/yy hh:mm a", "01/05/24 12:30 AM", "2024-05-01T00:30:00Z"),
        ("d.M.yyyy H:m[:s]", "1.5.2024 13:30", "2024-05-01T13:30:00Z"),
        ("dd/MMM/yyyy:HH:mm:ss Z", "01/May/2024:11:30:00 -0200", "2024-05-01T13:30:00Z"),
        ("yyyy-MM-dd HH:mm:ssX", "2024-05-01 13:30:00Z", "2024-05-01T13:30:00Z"),
        ("yyyy-MM-dd HH:mm:ssxxx", "2024-05-01 13:30:00+00:00", "2024-05-01T13:30:00Z"),
        ("'o''clock' yyyy-MM-dd HH", "o'clock 2024-05-01 13", "2024-05-01T13:00:00Z"),
        ("yyyy-MM-dd HH:mm:ss.SSSSSSSSS", "2024-05-01 13:30:00.123456789", "2024-05-01T13:30:00.123456Z"),
    ],
)
def test_times_are_read_as_their_format_says(time_format: str | None, text: str, expected: str) -> None:
    check_time_format(time_format)
    assert parser(time_format)(text) == parse_instant(expected)


@pytest.mark.parametrize(
    ("time_format", "text"),
    [
        (None, ""),
        (None, "yesterday"),
        ("epoch_seconds", "nan"),
        ("epoch_seconds", "1_000"),
        ("epoch_seconds", "1e300"),
        ("epoch_seconds", "1714570200000000"),
        ("epoch_millis", "2024-05-01"),
        ("yyyy-MM-dd", "2024-5-1"),
        ("yyyy-MM-dd", "2024-13-01"),
        ("hh a", "13 pm"),
        ("yyyy-MM-dd", "2024-05-01 13:00"),
    ],
)
def test_what_is_no_time_is_a_value_error(time_format: str | None, text: str) -> None:
    with pytest.raises(ValueError):
        parser(time_format)(text)


@pytest.mark.parametrize("time_format", ["yyyy-MM-ddTHH:mm", "yyyy-DDD", "EEE", "yyyy VV", "yyyy yyyy", "yyyy[-MM"])
def test_an_unsupported_pattern_is_an_error_that_lists_what_is_supported(time_format: str) -> None:
    with pytest.raises(FreshtideError, match="Supported are yyyy"):
        check_time_format(time_format)


@given(MOMENTS)
def test_every_format_is_exact_to_the_microsecond(moment: datetime) -> None:
    exact = micros_of(moment)
    aware = moment.replace(tzinfo=UTC)
    spark = moment.strftime("%m/%d/%H:%M:%S.%f ") + f"{moment.year:04}"
    for time_format, text in (
        (None, moment.isoformat()),
        (None, aware.isoformat(" ")),
        ("epoch_seconds", f"{exact // 10**6}.{exact % 10**6:06}" if exact >= 0 else repr(exact / 10**6)),
        ("MM/dd/HH:mm:ss.SSSSSS yyyy", spark),
    ):
        assert parser(time_format)(text) == seconds(exact)
        assert micros(parser(time_format)(text)) == exact
