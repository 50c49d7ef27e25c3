"""Lines that Spark is handed become the rows that it reads from their files."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Column, Feed
from freshtide.core.loads import LoadItem
from freshtide.feeds import admit
from freshtide.feeds.formats import JsonFormat
from freshtide.feeds.formats.csv import record_lines
from freshtide.spark import SparkSession
from freshtide.spark.formats import spark_format
from freshtide.spark.ingest import FeedReader
from tests.feeds.samples import NOW, MemoryLedger, make_feed, put, settled

COLUMNS = (
    Column(name="time", type="timestamp"),
    Column(name="host", type="string"),
    Column(name="load", type="double"),
    Column(name="it's", type="int"),
)
AT = "2026-01-01T00:00:01Z"
HEADER = "time,host,load,it's\n"


def feed_of(**changes: Any) -> Feed:
    return make_feed(**({"schema": COLUMNS} | changes))


def arrived(feed: Feed, path: Path) -> Arrival:
    file = admit(feed, settled(path), MemoryLedger(), NOW)
    assert file is not None
    return file


def rows(session: SparkSession, feed: Feed, files: list[Arrival], *, handed: bool) -> list[str]:
    items = [LoadItem(arrival=file, late_upto=None) for file in files]
    reader = FeedReader(session=session, feed=feed, extra=(), watch=lambda _: lambda: None)
    batch = reader.read(items, judge=False, with_files=False, handed=handed)
    assert (batch.lines is not None) == handed
    return sorted(map(repr, batch.good().as_frame().collect()))


def check(session: SparkSession, feed: Feed, path: Path) -> list[str]:
    """The good rows of a file, handed over; they are those that Spark reads."""
    file = arrived(feed, path)
    assert record_lines(feed, file) is not None
    found = rows(session, feed, [file], handed=True)
    assert found == rows(session, feed, [file], handed=False)
    return found


@pytest.mark.parametrize(
    ("text", "good", "changes"),
    [
        (f"{HEADER}{AT},a,1.5,2\r\n\r\n{AT},b,x,3\n{AT},c\n  \n{AT},d,,\r{AT},e,1,2,3", 2, {}),
        (f'\ufeff{HEADER}{AT},"a, ""b"" \\"c\\"",1,2\n{AT},C:\\data\\,1,2\n{AT},"open,1,2\n', 2, {}),
        (f"{AT};'a;b';1;2\n{AT};NA;NA;NA\n", 2, {"header": False, "delimiter": ";", "quote": "'", "null_value": "NA"}),
        (f"{AT}||a|b||1||2\n", 1, {"header": False, "delimiter": "||", "quote": ""}),
        ("it's,time\n7,1767225661.5\n8,soon\n", 1, {"time_format": "epoch_seconds"}),
        (HEADER, 0, {}),
    ],
)
def test_lines_of_csv_files_are_parsed_as_spark_reads_them(
    session: SparkSession, tmp_path: Path, text: str, good: int, changes: dict[str, Any]
) -> None:
    assert len(check(session, feed_of(**changes), put(tmp_path / "a.csv", text))) == good


def test_lines_of_files_in_another_encoding_are_parsed_as_spark_reads_them(
    session: SparkSession, tmp_path: Path
) -> None:
    packed = gzip.compress(f"{HEADER}{AT},Zürich,1,2\n".encode("latin-1"))
    (row,) = check(session, feed_of(encoding="iso-8859-1"), put(tmp_path / "a.csv.gz", packed))
    assert "Zürich" in row


def test_several_files_are_handed_over_together(session: SparkSession, tmp_path: Path) -> None:
    feed = feed_of()
    texts = [f"{HEADER}{AT},a,1,1\n", f"it's,time\n2,{AT}\n", f"{HEADER}{AT},c,3,3\n"]
    files = [arrived(feed, put(tmp_path / f"{index}.csv", text)) for index, text in enumerate(texts)]
    found = rows(session, feed, files, handed=True)
    assert len(found) == len(texts)
    assert found == rows(session, feed, files, handed=False)


@pytest.mark.parametrize(
    ("name", "text", "changes"),
    [
        ("a.json", f'{{"time": "{AT}"}}', {"format": JsonFormat}),
        ("a.csv", f'{HEADER}{AT},"a\nb",1,2\n', {"multiline": True}),
    ],
)
def test_a_file_whose_records_are_not_its_lines_is_left_to_spark(
    session: SparkSession, tmp_path: Path, name: str, text: str, changes: dict[str, Any]
) -> None:
    feed = feed_of(**changes)
    file = arrived(feed, put(tmp_path / name, text))
    assert spark_format(feed).layout(feed, file, feed.schema).handed_over(session, [file]) is None


def test_a_file_that_is_not_what_arrived_is_left_to_spark(tmp_path: Path) -> None:
    feed, path = feed_of(), tmp_path / "a.csv"
    file = arrived(feed, put(path, f"{HEADER}{AT},a,1,1\n"))
    put(path, f"{HEADER}{AT},b,1,1\n")
    assert record_lines(feed, file) is None
    path.unlink()
    assert record_lines(feed, file) is None


PIECES = st.sampled_from(
    [
        AT,
        "a",
        "1.5",
        "2",
        "x",
        ",",
        ",",
        ",",
        ";",
        '"',
        "'",
        "\\",
        " ",
        "\t",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "{",
        "é",
        "\x0b",
        "\x85",
    ]
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(pieces=st.lists(PIECES, max_size=40), header=st.booleans(), quote=st.sampled_from(['"', "'", ""]))
def test_any_text_is_parsed_as_spark_reads_it(
    session: SparkSession, pieces: list[str], header: bool, quote: str
) -> None:
    text = (HEADER if header else "") + f"{AT},first,1,1\n" + "".join(pieces)
    with tempfile.TemporaryDirectory() as folder:
        check(session, feed_of(header=header, quote=quote), put(Path(folder) / "a.csv", text))
