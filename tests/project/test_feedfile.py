from __future__ import annotations

import pytest

from freshtide.core.errors import Origin
from freshtide.core.feeds import Column, Duplicates, Feed, FolderSource, RowTime, SchemaChange, Settling, TimestampFrom
from freshtide.feeds.formats import CsvFormat, JsonFormat
from freshtide.project.feeds.feedfile import read_feed
from freshtide.project.notation.yamlfile import parse_yaml

LEAST = """\
path: landing/cpu/*.csv
format: csv
schema:
  time: timestamp
  cpu: double
time_column: time
"""
TYPES = "Types are like string, int, bigint, double, decimal(10,2), boolean, date, timestamp, array<int>."


def feed(text: str) -> Feed:
    file = parse_yaml(text, "feeds/cpu.yml")
    found, problems = read_feed(file.value, file.origin, default_name="cpu")
    assert problems == []
    assert found is not None
    return found


def problems(text: str) -> list[str]:
    file = parse_yaml(text, "feeds/cpu.yml")
    found, told = read_feed(file.value, file.origin, default_name="cpu")
    assert found is None
    return [str(problem) for problem in told]


def test_a_feed_is_called_like_its_file_unless_it_says_otherwise() -> None:
    assert feed(LEAST).name == "cpu"
    assert feed("name: routers\n" + LEAST).name == "routers"


def test_the_least_a_feed_needs_leaves_the_rest_at_its_default() -> None:
    assert feed(LEAST) == Feed(
        name="cpu",
        schema=(Column(name="time", type="timestamp"), Column(name="cpu", type="double")),
        time=RowTime(column="time"),
        source=FolderSource(path="landing/cpu/*.csv"),
        format=CsvFormat(),
        origin=Origin(file="feeds/cpu.yml", line=1),
    )


def test_everything_can_be_set() -> None:
    found = feed(
        """\
name: cpu
path: landing/**/*.csv
format: CSV
schema:
  - {name: At, type: string, nullable: false}
  - {name: load, type: "decimal(10, 2)"}
time_column: at
time_format: yyyy-MM-dd HH:mm
timestamp: {name: "cpu_%Y%m%d%H%M*.csv"}
settle: {marker: "{name}.done"}
lateness: 10 minutes
punctuation: landing/*.punct
period: 5m
phase: 90s
jitter: 20s
timestamp_jitter: 1m
duplicates: load
on_schema_change: evolve
header: false
delimiter: ";"
quote: "'"
escape: "^"
multiline: true
encoding: iso-8859-1
null_value: NA
"""
    )
    assert found.schema == (
        Column(name="At", type="string", nullable=False),
        Column(name="load", type="decimal(10, 2)"),
    )
    assert found.time.column == "At", "the spelling of the schema counts"
    assert (found.folder.timestamp_from, found.folder.name_pattern) == (TimestampFrom.NAME, "cpu_%Y%m%d%H%M*.csv")
    assert found.folder.settling == Settling(marker="{name}.done")
    assert (found.time.lateness, found.rhythm.period, found.folder.punctuation) == (600.0, 300.0, "landing/*.punct")
    assert (found.rhythm.phase, found.rhythm.jitter, found.rhythm.timestamp_jitter) == (90.0, 20.0, 60.0)
    assert (found.folder.duplicates, found.on_schema_change) == (Duplicates.LOAD, SchemaChange.EVOLVE)
    csv = CsvFormat.of(found)
    assert (csv.header, csv.delimiter, csv.quote, csv.escape) == (False, ";", "'", "^")
    assert (csv.multiline, csv.encoding, csv.null_value) == (True, "iso-8859-1", "NA")


@pytest.mark.parametrize("name", ["json", "jsonl", "ndjson"])
def test_json_lines_have_several_names(name: str) -> None:
    assert feed(LEAST.replace("format: csv", f"format: {name}")).format == JsonFormat()


@pytest.mark.parametrize(("settle", "quiet"), [("renamed", 0.0), ("5s", 5.0), ("0", 0.0)])
def test_settling_by_time(settle: str, quiet: float) -> None:
    assert feed(LEAST + f"settle: {settle}\n").folder.settling == Settling(quiet=quiet)


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2h30m", 9_000.0),
        ("90", 90.0),
        ("2026-05-04T06:00:00Z", 1_777_874_400.0),
        ('"2026-05-04 08:00:00+02:00"', 1_777_874_400.0),
        ("2026-05-04", 1_777_852_800.0),
    ],
)
def test_a_phase_is_a_time_within_the_period_or_the_moment_of_any_file(written: str, instant: float) -> None:
    assert feed(LEAST + f"period: 1w\nphase: {written}\n").rhythm.phase == instant


@pytest.mark.parametrize(
    ("written", "column"),
    [
        ("string not null", Column(name="x", type="string", nullable=False)),
        ("STRING  NOT  NULL", Column(name="x", type="string", nullable=False)),
        ("long", Column(name="x", type="bigint")),
        ("integer", Column(name="x", type="int")),
        ("timestamp_ntz", Column(name="x", type="timestamp_ntz")),
        ("array<int>", Column(name="x", type="ARRAY<INT>")),
        ("struct<Name: string, n: map<string, int>>", None),
    ],
)
def test_types_get_the_names_that_spark_gives_them(written: str, column: Column | None) -> None:
    found = feed(LEAST.replace("cpu: double", f'x: "{written}"')).schema[1]
    assert found == (column or Column(name="x", type="STRUCT<Name: STRING, n: MAP<STRING, INT>>"))


@pytest.mark.parametrize("time_type", ["string", "bigint", "double"])
def test_a_time_column_of_text_or_numbers_needs_a_format(time_type: str) -> None:
    text = LEAST.replace("time: timestamp", f"time: {time_type}")
    (problem,) = problems(text)
    assert problem.startswith(
        f"feeds/cpu.yml:6: The time column 'time' is of type {time_type}, and how it is written is not said."
    )
    assert feed(text + "time_format: epoch_millis\n").time.format == "epoch_millis"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            LEAST + "latness: 5m\n",
            "feeds/cpu.yml:7: There is no setting 'latness'. Did you mean 'lateness'? Known: content, delimiter, "
            "duplicates, encoding, escape, follow_links, format, future_limit, header, jitter, lateness, max_rows, "
            "max_size, multiline, name, null_value, on_schema_change, path, period, phase, punctuation, quote, schema, "
            "settle, time, time_column, time_format, time_zone, timestamp, timestamp_jitter.",
        ),
        (
            LEAST + "lateness: 5 parsecs\n",
            "feeds/cpu.yml:7: '5 parsecs' is not a duration. Write it like 90s, 5m, 1h30m or '15 minutes'.",
        ),
        (
            LEAST + "period: 0s\n",
            "feeds/cpu.yml:7: 'period' must be longer than 0s, not '0s'. Write it like 90s, 5m, 1h30m or '15 minutes'.",
        ),
        (
            LEAST + "period: 0.000001s\n",
            "feeds/cpu.yml:7: 'period' must be 10ms at least, not '0.000001s': no update is shorter. Write 10ms, or "
            "how often files really come: all that are there are loaded together.",
        ),
        (
            LEAST + "period: 5m\njitter: 6m\n",
            "feeds/cpu.yml:8: The jitter of 6m is longer than the period of 5m. "
            "Write at most 5m: then a file may come at any time.",
        ),
        (
            LEAST + "jitter: 10s\n",
            "feeds/cpu.yml:7: 'jitter' says when in its period a file comes, and there is no 'period'. Declare it too.",
        ),
        (
            LEAST + "phase: 10s\n",
            "feeds/cpu.yml:7: 'phase' says when in its period a file comes, and there is no 'period'. Declare it too.",
        ),
        (
            LEAST + "period: 1d\nphase: noon\n",
            "feeds/cpu.yml:8: 'noon' is neither a duration nor a time stamp. Write 5m for five minutes into each "
            "period, or the moment of any file, like 2026-05-01T06:00:00Z.",
        ),
        (
            LEAST + "timestamp_jitter: -5s\n",
            "feeds/cpu.yml:7: '-5s' is not a duration. Write it like 90s, 5m, 1h30m or '15 minutes'.",
        ),
        (
            LEAST.replace("format: csv", "format: cvs"),
            "feeds/cpu.yml:2: 'cvs' is not a format. Did you mean 'csv'? "
            "Known: avro, csv, json, jsonl, ndjson, orc, parquet.",
        ),
        (
            LEAST.replace("cpu: double", "cpu: dubble"),
            f"feeds/cpu.yml:5: 'dubble' is not a Spark type (column 'cpu'). {TYPES}",
        ),
        (
            LEAST.replace("cpu: double", "cpu: array<dubble>"),
            f"feeds/cpu.yml:5: 'array<dubble>' is not a Spark type (column 'cpu'). {TYPES}",
        ),
        (
            LEAST.replace("time: timestamp", "time: timestmp"),
            f"feeds/cpu.yml:4: 'timestmp' is not a Spark type (column 'time'). {TYPES}",
        ),
        (
            LEAST.replace("  cpu: double", "  cpu: double\n  CPU: int"),
            "feeds/cpu.yml:6: The column 'CPU' is there twice. Spark does not tell upper from lower case.",
        ),
        (
            LEAST.replace("  cpu: double", "  cpu load: double"),
            "feeds/cpu.yml:5: 'cpu load' cannot be the name of a column. Use no spaces and none of ,;{}()= in it.",
        ),
        (
            LEAST.replace("  cpu: double", "  time_of_day: double").replace("column: time", "column: tme"),
            "feeds/cpu.yml:6: The time column 'tme' is not in the schema. Did you mean 'time'?",
        ),
        (
            LEAST.replace("time: timestamp", "time: boolean"),
            "feeds/cpu.yml:6: The time column 'time' is of type boolean, which holds no time. "
            "Declare it as timestamp or date.",
        ),
        (
            LEAST + "timestamp: {name: cpu.csv}\n",
            "feeds/cpu.yml:7: The file name pattern 'cpu.csv' holds no time. "
            "Put strptime codes where the file names have the time, like cpu_%Y%m%d%H%M.csv.",
        ),
        (
            LEAST + "timestamp: name\n",
            "feeds/cpu.yml:7: 'timestamp' says where the time stamp of a file comes from. "
            'Write content, modified or {name: "cpu_%Y%m%d%H%M.csv"}.',
        ),
        (
            LEAST + "settle: {marker: done}\n",
            "feeds/cpu.yml:7: A marker is a file name that holds {name}, the name of the file it stands for. "
            'Write {marker: "{name}.done"}.',
        ),
        (
            LEAST + "settle: {marker: 's3://bucket/{name}.done'}\n",
            "feeds/cpu.yml:7: A marker is a file name that holds {name}, the name of the file it stands for. "
            'Write {marker: "{name}.done"}.',
        ),
        (
            LEAST.replace("format: csv", "format: parquet") + "delimiter: ;\n",
            "feeds/cpu.yml:7: 'delimiter' is for CSV files, and this feed's format is parquet. Take it out.",
        ),
        (
            "name: cpu__late\n" + LEAST,
            "feeds/cpu.yml:1: 'cpu__late' cannot be a name: Freshtide keeps rows aside under names that end in "
            "__late. Choose another name.",
        ),
        (
            "name: _cpu\n" + LEAST,
            "feeds/cpu.yml:1: '_cpu' cannot be a name. "
            "Names are letters, digits and underscores, and begin with a letter.",
        ),
        (
            LEAST.replace("time_column: time\n", "lateness: 5m\n"),
            "feeds/cpu.yml:6: 'lateness' is about the time of rows, and there is no 'time_column'. Name the column, or "
            "take it out: without a time column the rows are reference data.",
        ),
        (
            LEAST.replace("time_column: time\n", "timestamp: content\n"),
            "feeds/cpu.yml:6: The time stamp of a file cannot come from its content: there is no 'time_column'. Write "
            "modified, or take it out, which says the same.",
        ),
        (
            LEAST + "content: newest\nlateness: 5m\n",
            "feeds/cpu.yml:8: 'lateness' is for files that add up, and of this feed the newest file is all that there "
            "is. Take it out, or declare `content: all`.",
        ),
        (
            LEAST + "content: newest\nduplicates: skip\n",
            "feeds/cpu.yml:8: A file with known content cannot be skipped where the newest file is all that there is. "
            "Take it out: what was there before may come back.",
        ),
        (
            LEAST + "content: last\n",
            "feeds/cpu.yml:7: 'last' is not all or newest. Known: all, newest.",
        ),
        (
            LEAST.replace("landing/cpu/*.csv", '""'),
            "feeds/cpu.yml:1: 'path' is empty. Write a folder with a pattern, like landing/cpu/*.csv.",
        ),
        (
            "path: a\nformat: csv\nschema:\n  - name: a\ntime_column: a\n",
            "feeds/cpu.yml:4: A column in a list has a name, a type and perhaps nullable. "
            "Write it like {name: cpu, type: double, nullable: false}.",
        ),
        (
            "path: a\nformat: csv\nschema: []\ntime_column: a\n",
            "feeds/cpu.yml:3: 'schema' must list the columns. Write each as `name: type`, like `cpu: double`.",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_way_out(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_all_mistakes_are_told_at_once() -> None:
    text = LEAST.replace("cpu: double", "cpu: dubble") + "lateness: soon\nperiods: 3\nduplicates: skipp\n"
    assert len(problems(text)) == 4
