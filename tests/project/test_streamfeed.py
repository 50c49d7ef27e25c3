"""Feeds of single rows, in YAML and in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from freshtide.core.errors import Origin
from freshtide.core.feeds import Feed, GeneratorSource, SocketSource
from freshtide.feeds.formats import JsonFormat
from freshtide.project.feeds.feedfile import read_feed
from freshtide.project.notation.yamlfile import parse_yaml

from .folder import ProjectFolder

LEAST = "schema: {ts: timestamp, symbol: string}\ntime_column: ts\n"
ADDRESS = "Write a host and a port up to 65535, like localhost:9009."
QUOTES = "CREATE STREAMING TABLE {} TBLPROPERTIES ('update_key' = 'symbol') AS SELECT * FROM STREAM {};"


def read(text: str) -> tuple[Feed | None, list[str]]:
    file = parse_yaml(text, "feeds/ticks.yml")
    found, told = read_feed(file.value, file.origin, default_name="ticks")
    return found, [str(problem) for problem in told]


def declared(text: str) -> Feed:
    found, told = read(text)
    assert told == []
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("listen: localhost:9009", SocketSource(host="localhost", port=9009)),
        ("connect: quotes.example.org:1", SocketSource(host="quotes.example.org", port=1, connect=True)),
        ("listen: '[::1]:65535'", SocketSource(host="::1", port=65535)),
        ("listen: 9009", SocketSource(host="127.0.0.1", port=9009)),
        ("listen: ':9009'", SocketSource(host="127.0.0.1", port=9009)),
        ("listen: 0.0.0.0:1\nsecret: s3cret", SocketSource(host="0.0.0.0", port=1, secret="s3cret")),
        ("listen: 1\nconnections: 2\nidle: 5m", SocketSource(host="127.0.0.1", port=1, connections=2, idle=300.0)),
    ],
)
def test_a_feed_listens_or_connects(line: str, source: SocketSource) -> None:
    feed = declared(f"{line}\n{LEAST}")
    assert feed.source == source
    assert (feed.name, feed.brings_files, feed.format, feed.time.column) == ("ticks", False, JsonFormat(), "ts")
    assert feed.column_names == ("ts", "symbol")


def test_the_format_may_be_said_and_the_time_be_a_number() -> None:
    feed = declared(
        "listen: localhost:9009\nformat: json\nschema: {ts: bigint}\ntime_column: TS\ntime_format: epoch_millis\n"
    )
    assert (feed.time.column, feed.time.format) == ("ts", "epoch_millis")


def numbers(start: int = 0) -> Iterator[dict[str, Any]]:
    yield {"ts": start}


def test_a_generator_is_given_in_python() -> None:
    settings = {"name": "ticks", "schema": {"ts": "timestamp"}, "time_column": "ts", "generator": numbers}
    feed, told = read_feed(settings, lambda _: Origin(file="tables/ticks.py"))
    assert told == []
    assert feed is not None
    assert isinstance(feed.source, GeneratorSource)
    assert feed.source.function is numbers


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("connect: 9009\n", f"1: '9009' is not an address. {ADDRESS}"),
        ("listen: localhost\n", f"1: 'localhost' is not an address. {ADDRESS}"),
        ("connect: localhost:0\n", f"1: 'localhost:0' is not an address. {ADDRESS}"),
        ("connect: ':9009'\n", f"1: ':9009' is not an address. {ADDRESS}"),
        ("listen: localhost:70000\n", f"1: 'localhost:70000' is not an address. {ADDRESS}"),
        (
            "generator: numbers\n",
            "1: 'generator' is a Python function that yields rows. "
            "Declare the feed in Python: feed(..., generator=function).",
        ),
        (
            "listen: localhost:1\nconnect: localhost:2\n",
            "2: The feed has both 'listen' and 'connect', but its rows come from one place. "
            "Take one of them out, or make two feeds.",
        ),
        (
            "listen: localhost:1\npath: landing/*.json\n",
            "2: 'path' is about files, and this feed brings single rows. Take it out.",
        ),
        (
            "listen: localhost:1\nlateness: 5m\n",
            "2: 'lateness' is about files, and this feed brings single rows. Take it out.",
        ),
        ("listen: localhost:1\nformat: csv\n", "2: Single rows come as JSON, not as 'csv'. Take 'format' out."),
        (
            "listen: localhost:1\nprt: 3\n",
            "2: There is no setting 'prt'. Known: connect, connections, format, future_limit, generator, idle, listen, "
            "name, schema, secret, time_column, time_format, time_zone.",
        ),
    ],
)
def test_each_mistake_is_told_with_its_line(text: str, told: str) -> None:
    assert read(text + LEAST) == (None, [f"feeds/ticks.yml:{told}"])


def test_the_schema_and_the_time_column_are_held_to_the_same_rules_as_those_of_files() -> None:
    found, told = read("listen: localhost:1\nschema: {ts: bigint, symbol: strng}\ntime_column: ts\n")
    assert found is None
    assert [problem.partition(": ")[2].partition(".")[0] for problem in told] == [
        "'strng' is not a Spark type (column 'symbol')",
        "The time column 'ts' is of type bigint, and how it is written is not said",
    ]


def test_a_generator_gets_no_arguments() -> None:
    settings = {"schema": {"ts": "timestamp"}, "time_column": "ts", "generator": lambda market: iter([market])}
    _, (problem,) = read_feed({"name": "t", **settings}, lambda _: Origin(file="tables/ticks.py", line=7))
    assert str(problem) == (
        "tables/ticks.py:7: The generator has parameters, and nothing is passed to it. Give them default values."
    )


def test_two_feeds_cannot_listen_on_one_address(empty: ProjectFolder) -> None:
    for name in ("a", "b"):
        empty.write(f"feeds/{name}.yml", f"listen: localhost:9009\n{LEAST}")
        empty.write(f"tables/{name}.sql", QUOTES.format(f"{name}_newest", name))
    assert empty.problem() == (
        "feeds/b.yml:1: The feed 'b' listens on localhost:9009, as the feed 'a' does. Give one of them another port."
    )
    empty.write("feeds/b.yml", f"connect: localhost:9009\n{LEAST}")
    assert set(empty.load().feeds) == {"a", "b"}, "one may connect to what the other one listens on"


def test_a_stream_that_nobody_reads_is_worth_a_note(empty: ProjectFolder) -> None:
    for name, port in (("a", 1), ("b", 2)):
        empty.write(f"feeds/{name}.yml", f"listen: localhost:{port}\n{LEAST}")
    empty.write("tables/a.sql", QUOTES.format("newest", "a"))
    (note,) = empty.load().notes
    assert str(note) == (
        "feeds/b.yml:1: No table reads the feed 'b', so its rows are not loaded. Write CREATE STREAMING TABLE name "
        "TBLPROPERTIES ('update_key' = '...') AS SELECT * FROM STREAM b."
    )
