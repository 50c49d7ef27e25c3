from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.durations import format_duration, parse_duration
from freshtide.core.errors import DurationError

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 5 * MINUTE),
        ("1h30m", HOUR + 30 * MINUTE),
        ("1h 30m", HOUR + 30 * MINUTE),
        ("15 minutes", 15 * MINUTE),
        ("1 minute", MINUTE),
        ("2 mins", 2 * MINUTE),
        ("1 Hour", HOUR),
        ("3 secs", 3),
        ("2 days", 2 * DAY),
        ("1w", 7 * DAY),
        ("1.5h", 1.5 * HOUR),
        ("250ms", 0.25),
        ("250 milliseconds", 0.25),
        (" 7 ", 7),
        ("0.5", 0.5),
        ("0", 0),
        (12, 12),
        (2.5, 2.5),
        (0, 0),
    ],
)
def test_durations_are_understood_as_people_write_them(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_the_shortest_duration_is_a_microsecond() -> None:
    assert parse_duration("1us") == parse_duration("1 microsecond") == pytest.approx(1e-6)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "soon", "5x", "m", "5 m or so", "-5s", "-1", -1, "nan", "inf", float("nan"), float("inf"), True, "5m,"],
)
def test_what_is_no_duration_is_refused_by_name_and_with_a_way_out(text: str | float) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert f"'{text}'" in caught.value.message
    assert caught.value.way_out


@given(st.integers(0, 10**6), st.sampled_from([("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800)]))
def test_a_whole_number_of_a_unit_is_exact(number: int, unit: tuple[str, int]) -> None:
    assert parse_duration(f"{number}{unit[0]}") == number * unit[1]


@given(st.floats(0, 1e9))
def test_a_formatted_duration_is_read_back_within_a_unit_of_what_it_shows(seconds: float) -> None:
    shown = format_duration(seconds)
    smallest = 0.05 if seconds < 60 else 0.5 if seconds < HOUR else MINUTE if seconds < DAY else HOUR
    assert parse_duration(shown) == pytest.approx(seconds, abs=smallest + 0.5)


@given(st.integers(1, 59), st.integers(0, 59))
def test_minutes_and_seconds_round_trip(minutes: int, seconds: int) -> None:
    assert parse_duration(format_duration(minutes * 60 + seconds)) == minutes * 60 + seconds


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (4.2, "4.2s"),
        (42, "42s"),
        (60, "1m"),
        (200, "3m 20s"),
        (3_599.7, "1h"),
        (7_500, "2h 5m"),
        (86_400, "1d"),
        (349_200, "4d 1h"),
        (-200, "-3m 20s"),
    ],
)
def test_durations_are_shown_in_two_units_at_most(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


def test_a_duration_that_rounds_up_to_a_minute_is_shown_as_a_minute() -> None:
    assert format_duration(59.97) == "1m"
