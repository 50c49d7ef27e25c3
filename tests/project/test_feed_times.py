"""Time zones and computed times as users write them, and what is wrong with them."""

from __future__ import annotations

import pytest

from freshtide.core.feeds import Feed, RowTime
from freshtide.project.feeds.feedfile import read_feed
from freshtide.project.notation.yamlfile import parse_yaml

LEAST = """\
path: landing/cpu/*.csv
format: csv
schema: {day: string, hhmm: string, ts: timestamp}
"""
TIME = "time: to_timestamp(concat(day, ' ', hhmm), 'yyyy-MM-dd HHmm')\n"


def read(text: str) -> tuple[Feed | None, list[str]]:
    file = parse_yaml(LEAST + text, "feeds/cpu.yml")
    found, told = read_feed(file.value, file.origin, default_name="cpu")
    return found, [str(problem) for problem in told]


def test_a_feed_has_local_times_of_the_zone_that_it_names() -> None:
    found, told = read("time_column: ts\ntime_zone: Europe/Berlin\n")
    assert told == []
    assert found is not None
    assert found.time_zone == "Europe/Berlin"
    found, _ = read("time_column: ts\n")
    assert found is not None
    assert found.time_zone == "UTC"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("Europe/Berlim", "'Europe/Berlim' is not a time zone. Did you mean 'Europe/Berlin'?"),
        ("europe/berlin", "'europe/berlin' is not a time zone. Did you mean 'Europe/Berlin'?"),
        ("New York", "'New York' is not a time zone. Did you mean 'America/New_York'?"),
        ("localtime", "'localtime' is not a time zone."),
        ('"+02:00"', "'+02:00' is not a time zone."),
        ("../../etc/passwd", "'../../etc/passwd' is not a time zone."),
        ("2", "'time_zone' is the name of a time zone. Write it like Europe/Berlin."),
        ("[UTC]", "'time_zone' is the name of a time zone."),
    ],
)
def test_what_is_no_zone_is_told_with_the_nearest(written: str, told: str) -> None:
    found, problems = read(f"time_column: ts\ntime_zone: {written}\n")
    assert found is None
    assert len(problems) == 1
    assert problems[0].startswith(f"feeds/cpu.yml:5: {told}")


def test_a_computed_time_is_a_column_of_its_own_behind_the_others() -> None:
    found, told = read(TIME + "timestamp: modified\n")
    assert told == []
    assert found is not None
    assert found.time == RowTime(
        column="event_time", expression="to_timestamp(concat(day, ' ', hhmm), 'yyyy-MM-dd HHmm')"
    )
    assert found.column_names == ("day", "hhmm", "ts", "event_time")
    found, _ = read(TIME + "timestamp: modified\ntime_column: at\n")
    assert found is not None
    assert found.column_names == ("day", "hhmm", "ts", "at")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("time_column: ts\ntimestamp: modified", "'time' computes the column 'ts', and the schema has one"),
        ("time_column: a b\ntimestamp: modified", "'a b' cannot be the name of a column."),
        ("time_format: epoch_seconds\ntimestamp: modified", "'time_format' says how a time column is written"),
        ("duplicates: skip", "'time' is computed by Spark, when a file is loaded"),
        ("timestamp: content", "'time' is computed by Spark, when a file is loaded"),
    ],
)
def test_what_does_not_go_with_a_computed_time_is_told(written: str, told: str) -> None:
    found, problems = read(f"{TIME}{written}\n")
    assert found is None
    assert len(problems) == 1
    assert told in problems[0]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("to_timestamp(dai)", "names the column 'dai', which is not in the schema. Did you mean 'day'?"),
        ("to_timestamp(day", "does not parse in line 1"),
        ("  ", "is empty."),
        ("day, hhmm", "is not a single value."),
        ("ts AS x", "is not a single value."),
        ("*", "is not a single value."),
        ("ts FROM other", "is not a single value."),
        ("ts; DROP TABLE x", "There is more than one statement"),
        ("(SELECT max(ts) FROM other)", "holds a query, and it is computed from one row."),
        ("max(ts)", "uses max, which works on several rows"),
        ("lag(ts) OVER (ORDER BY ts)", "which works on several rows"),
        ("current_timestamp()", "uses current_timestamp(), whose value does not follow from the row"),
        ("timestampadd(HOUR, rand(), ts)", "uses rand(), whose value does not follow from the row"),
    ],
)
def test_an_expression_that_is_none_of_one_row_is_told_without_spark(expression: str, told: str) -> None:
    found, problems = read(f'timestamp: modified\ntime: "{expression}"\n')
    assert found is None
    assert len(problems) == 1
    assert problems[0].startswith("feeds/cpu.yml:5: 'time' ")
    assert told in problems[0]


@pytest.mark.parametrize(
    "expression",
    [
        "timestampadd(MINUTE, CAST(hhmm AS INT), CAST(day AS TIMESTAMP))",
        "DAY + INTERVAL 1 HOUR",
        "element_at(transform(array(ts), x -> x + INTERVAL 1 DAY), 1)",
        "CASE WHEN ts IS NULL THEN to_timestamp(day) ELSE ts END -- the better of two",
        "make_timestamp(2026, 5, CAST(day AS INT), CAST(left(hhmm, 2) AS INT), 0, 0)",
    ],
)
def test_expressions_of_one_row_are_taken(expression: str) -> None:
    found, problems = read(f'timestamp: modified\ntime: "{expression}"\n')
    assert problems == []
    assert found is not None
    assert found.time.expression == expression


def test_a_feed_without_any_time_brings_reference_data_of_its_zone() -> None:
    found, problems = read("time_zone: Europe/Berlin\n")
    assert problems == []
    assert found is not None
    assert found.is_reference
    assert found.time_zone == "Europe/Berlin"


def test_a_computed_time_is_no_reference_data() -> None:
    found, problems = read('time: "to_timestamp(day)"\ntimestamp: modified\nlateness: 5m\n')
    assert problems == []
    assert found is not None
    assert not found.is_reference


def test_local_times_that_would_stay_local_or_meet_as_keys_are_refused() -> None:
    text = LEAST.replace("ts: timestamp", "ts: timestamp_ntz, m: 'map<timestamp, int>'")
    file = parse_yaml(text + "time_column: ts\ntime_zone: Europe/Berlin\n", "feeds/cpu.yml")
    found, told = read_feed(file.value, file.origin, default_name="cpu")
    assert found is None
    assert {problem.message for problem in told} == {
        "The column 'm' has times as keys of a map, and two local times can be the same instant.",
        "The time column 'ts' is of type timestamp_ntz, which keeps local times as they are.",
    }


def test_single_rows_have_local_times_and_none_that_is_computed() -> None:
    text = "listen: localhost:9009\nschema: {ts: timestamp}\ntime_column: ts\n"
    file = parse_yaml(text + "time_zone: Asia/Tokyo\n", "feeds/cpu.yml")
    found, _ = read_feed(file.value, file.origin, default_name="cpu")
    assert found is not None
    assert found.time_zone == "Asia/Tokyo"
    file = parse_yaml(text + "time: ts\n", "feeds/cpu.yml")
    found, told = read_feed(file.value, file.origin, default_name="cpu")
    assert found is None
    assert [problem.message for problem in told] == ["'time' is about files, and this feed brings single rows."]
