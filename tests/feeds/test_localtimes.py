"""Local times as instants, without Spark: against clocks that are looked at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.feeds import Column, GeneratorSource
from freshtide.core.instants import micros, micros_of
from freshtide.feeds import inspect, local_times, parser
from freshtide.feeds.formats import JsonFormat
from freshtide.feeds.sources import RowReader, StreamRow
from tests.examples import examples, slow_except
from tests.feeds.clocks import changes, instant_of, shown
from tests.feeds.samples import make_feed, settled
from tests.feedsettings import feed_of

BERLIN = "Europe/Berlin"
TELLING = (
    "Europe/Berlin",
    "Pacific/Apia",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Africa/Casablanca",
    "Asia/Kolkata",
)
ZONES = sorted(zone for zone in available_timezones() if "/" in zone)
HOUR = timedelta(hours=1)


def local_parser_gives(text: str, zone: str) -> int:
    return micros(parser(None, zone)(text))


@given(
    zone=st.sampled_from(ZONES),
    local=st.datetimes(datetime(1840, 1, 1), datetime(2100, 1, 1)),
)
@settings(max_examples=examples(2_000), deadline=None)
def test_any_local_time_of_any_zone_is_what_its_clocks_have_shown(zone: str, local: datetime) -> None:
    expected = micros_of(instant_of(local, zone))
    assert local_parser_gives(local.isoformat(), zone) == expected
    times = local_times(zone)
    assert times is not None
    assert times.micros(micros_of(local)) == expected


@pytest.mark.parametrize("zone", slow_except(ZONES, *TELLING))
def test_around_each_change_of_the_clocks_times_are_what_they_have_shown(zone: str) -> None:
    times = local_times(zone)
    assert times is not None
    for change in changes(zone, 1880, 2045):
        for distance in (-2 * HOUR, -HOUR, timedelta(seconds=-1), timedelta(0), HOUR / 2, HOUR, 25 * HOUR):
            for local in (shown(change, zone) + distance, shown(change - timedelta(seconds=1), zone) + distance):
                assert times.micros(micros_of(local)) == micros_of(instant_of(local, zone)), (change, local)


@pytest.mark.parametrize("zone", slow_except(ZONES, *TELLING))
def test_wherever_an_earlier_local_time_is_a_later_instant_it_is_looked_for(zone: str) -> None:
    times = local_times(zone)
    assert times is not None
    for change in changes(zone, 1880, 2045):
        before, after = shown(change - timedelta(seconds=1), zone) + timedelta(seconds=1), shown(change, zone)
        gap = after - before
        for part in range(1, 8):
            left_out, there = before + gap * part / 8, after + gap * (part - 1) / 8
            if gap > timedelta(0) and instant_of(left_out, zone) > instant_of(there, zone):
                assert times.may_follow_later_ones(instant_of(there, zone).timestamp()), (change, there)


def test_the_newest_time_of_a_file_is_found_by_its_instant_and_not_by_its_text(tmp_path: Path) -> None:
    feed = make_feed(time_zone=BERLIN)
    path = tmp_path / "a.csv"
    path.write_text("time,host,load\n2026-03-29T02:59:00,a,1\n2026-03-29T03:10:00,a,1\n2026-03-28T12:00:00,a,1\n")
    assert inspect(feed, settled(path)).timestamp == datetime(2026, 3, 29, 1, 59, tzinfo=UTC).timestamp()


def test_times_that_no_table_can_hold_are_no_times_in_any_zone() -> None:
    for text, zone in (("0001-01-01T00:00:00", BERLIN), ("9999-12-31T23:00:00", "America/New_York")):
        with pytest.raises(ValueError, match="years 1 to 9999"):
            parser(None, zone)(text)
    times = local_times(BERLIN)
    assert times is not None
    with pytest.raises(ValueError, match="years 1 to 9999"):
        times.micros(2**62)


def test_single_rows_have_local_times_wherever_they_are() -> None:
    columns = (Column(name="ts", type="timestamp"), Column(name="all", type="array<timestamp>"))
    source = GeneratorSource(function=list, fingerprint="")
    given = {"name": "a", "schema": columns, "time_column": "ts", "time_zone": BERLIN}
    feed = feed_of({**given, "source": source, "format": JsonFormat})
    reader = RowReader(feed)
    noon = datetime(2026, 5, 1, 12)
    row = reader.line(b'{"ts": "2026-05-01T12:00:00", "all": ["2026-01-01T12:00:00", "2026-01-01T12:00:00Z"]}')
    assert isinstance(row, StreamRow)
    assert row.values == (
        datetime(2026, 5, 1, 10, tzinfo=UTC),
        [datetime(2026, 1, 1, 11, tzinfo=UTC), datetime(2026, 1, 1, 12, tzinfo=UTC)],
    )
    yielded = reader.record({"ts": noon})
    assert isinstance(yielded, StreamRow)
    assert yielded.values[0] == datetime(2026, 5, 1, 10, tzinfo=UTC)
