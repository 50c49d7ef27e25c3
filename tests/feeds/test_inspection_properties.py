"""Counting and timing agree with the obvious slow way, for any text."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.feeds import TimestampFrom
from freshtide.feeds import Inspection, inspect
from freshtide.feeds.formats import JsonFormat

from .samples import make_feed, put, settled

LINE_END = st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n", " \n", "\t\r\n"])
CELL = st.text(st.characters(codec="utf-8", exclude_characters='\r\n"', exclude_categories=["Cs"]), max_size=8)
MOMENT = st.datetimes(
    min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.sampled_from([None, UTC])
)


def inspected(name: str, text: str, **feed: Any) -> Inspection:
    with tempfile.TemporaryDirectory() as folder:
        return inspect(make_feed(**feed), settled(put(Path(folder) / name, text)))


def naive_count(text: str) -> int:
    """Lines with anything above the space in them: what Spark's trim leaves."""
    return sum(any(letter > " " for letter in line) for line in re.split(r"\r\n|\n|\r", text))


@given(st.lists(st.tuples(CELL, LINE_END)), CELL, st.booleans())
def test_rows_are_the_lines_that_are_not_blank(lines: list[tuple[str, str]], last: str, header: bool) -> None:
    text = "".join(line + end for line, end in lines) + last
    text = text.removeprefix("\ufeff").replace("\0", "0")  # which no name may hold
    found = inspected("a.csv", text, header=header, timestamp_from=TimestampFrom.MODIFIED)
    assert found.rows == max(0, naive_count(text) - header)


@given(st.lists(st.tuples(CELL, st.one_of(MOMENT, st.none())), max_size=30), st.sampled_from(["T", " "]))
def test_the_timestamp_of_a_csv_file_is_its_largest_readable_time(
    rows: list[tuple[str, datetime | None]], separator: str
) -> None:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(("host", "time", "load"))
    for host, moment in rows:
        writer.writerow((host.replace("\\", "/"), moment.isoformat(separator) if moment else "none", 1))
    found = inspected("a.csv", out.getvalue())
    assert found.rows == len(rows)
    assert found.timestamp == naive_latest([moment for _, moment in rows])


@given(st.lists(st.one_of(MOMENT, st.none()), max_size=30))
def test_the_timestamp_of_a_json_file_is_its_largest_readable_time(moments: list[datetime | None]) -> None:
    lines = [json.dumps({"time": moment.isoformat() if moment else None}) for moment in moments]
    found = inspected("a.json", "\n".join(lines), format=JsonFormat)
    assert found.rows == len(moments)
    assert found.timestamp == naive_latest(moments)


def naive_latest(moments: list[datetime | None]) -> float | None:
    aware = [moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in moments if moment]
    return max(aware).timestamp() if aware else None


DIGITS = st.integers(0, 25).map("{:02d}".format)
# Mostly times, and now and then what only looks like one: a 13th month, a 25th hour.
ALIKE = st.tuples(
    st.sampled_from(["2026-", "1999-", "2026"]),
    st.tuples(DIGITS, st.sampled_from(["-", ""]), DIGITS).map("".join),
    st.sampled_from(["T", " ", "1", ""]),
    st.tuples(DIGITS, DIGITS).map(":".join),
    st.sampled_from(["", ":07", ":07.5", ":08.123456", ":08,5"]),
    st.sampled_from(["", "Z", "+00:00", "+11:30", "-11:30", "+0130"]),
).map("".join)


@given(st.lists(st.one_of(ALIKE, MOMENT.map(str), st.sampled_from(['"2030-01-01"', " 2030-01-01", "none", ""]))))
def test_the_largest_time_is_found_among_times_of_all_shapes(times: list[str]) -> None:
    found = inspected("a.csv", "time\n" + "".join(f"{time},\n" for time in times))
    cells = [time.partition(",")[0] for time in times]
    assert found.timestamp == naive_latest([parsed(cell.strip('"')) for cell in cells])


def parsed(time: str) -> datetime | None:
    try:
        return datetime.fromisoformat(time.strip())
    except ValueError:
        return None
