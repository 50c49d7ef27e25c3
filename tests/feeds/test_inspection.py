from __future__ import annotations

import gzip
import hashlib
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import TimestampFrom
from freshtide.core.instants import parse_instant
from freshtide.feeds import Inspection, UnreadableFileError, check_feed, inspect, read_punctuation
from freshtide.feeds.formats import CsvFormat, JsonFormat, ParquetFormat

from .samples import LONG_AGO, aged, make_feed, put, settled

CSV = "time,host,load\n2024-05-01T12:00:00Z,a,1\n2024-05-01T12:00:05Z,b,2\n"


def inspected(path: Path, **feed: Any) -> Inspection:
    return inspect(make_feed(**feed), settled(path))


def fault(path: Path, **feed: Any) -> UnreadableFileError:
    with pytest.raises(UnreadableFileError) as caught:
        inspected(path, **feed)
    assert caught.value.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    return caught.value


def put_parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return aged(path)


def test_a_csv_file_is_hashed_counted_named_and_timed(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", CSV)
    assert inspected(path) == Inspection(
        sha256=hashlib.sha256(CSV.encode()).hexdigest(),
        size=len(CSV),
        modified_ns=round(LONG_AGO * 1e9),
        rows=2,
        columns=("time", "host", "load"),
        timestamp=parse_instant("2024-05-01T12:00:05Z"),
        unpacked=len(CSV),
    )


def test_a_gzipped_file_is_hashed_as_it_lies_on_disk(tmp_path: Path) -> None:
    packed = gzip.compress(CSV.encode()) + gzip.compress(b"2024-05-01T13:00:00Z,c,3")
    found = inspected(put(tmp_path / "a.csv.gz", packed))
    assert found.sha256 == hashlib.sha256(packed).hexdigest()
    assert found.rows == 3
    assert found.timestamp == parse_instant("2024-05-01T13:00:00Z")


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("", 0, None),
        ("\n  \n", 0, None),
        ("time,host,load", 0, ("time", "host", "load")),
        ("\r\n\r\ntime,host,load\r\n \t\r\nx\r\n\r\ny", 2, ("time", "host", "load")),
        ("time\rx\ry\r", 2, ("time",)),
        ('\ufefftime,"a ""b"", c"\n', 0, ("time", 'a "b", c')),
    ],
)
def test_blank_lines_count_for_nothing(tmp_path: Path, text: str, rows: int, columns: tuple[str, ...] | None) -> None:
    found = inspected(put(tmp_path / "a.csv", text))
    assert (found.rows, found.columns, found.has_rows) == (rows, columns, rows > 0)


def test_without_a_header_every_line_is_a_row_and_the_schema_places_the_time(tmp_path: Path) -> None:
    found = inspected(put(tmp_path / "a.csv", "2024-05-01,a,1\n2024-05-02,b,2\n"), header=False)
    assert (found.rows, found.columns) == (2, None)
    assert found.timestamp == parse_instant("2024-05-02")


def test_multiline_records_are_counted_as_records(tmp_path: Path) -> None:
    text = 'host,time\n"a\nb\r\n\nc",2024-05-01\n\nd,2024-05-02\n'
    found = inspected(put(tmp_path / "a.csv", text), multiline=True)
    assert (found.rows, found.columns) == (2, ("host", "time"))
    assert found.timestamp == parse_instant("2024-05-02")


@pytest.mark.parametrize(
    "line",
    [
        '"a, b",2024-05-01,1',
        '"a "" , b",2024-05-01,1',
        "C:\\dir\\,2024-05-01,1",
        '"C:\\dir\\\\",2024-05-01,"1"',
        'say "a" b,"2024-05-01",1',
        "é,2024-05-01",
    ],
)
def test_the_time_is_found_behind_quotes_escapes_and_backslashes(tmp_path: Path, line: str) -> None:
    path = put(tmp_path / "a.csv", f"host,time,load\n{line}\nshort\n,never,1\n")
    assert inspected(path).timestamp == parse_instant("2024-05-01")


def test_a_backslash_escapes_a_quote_where_the_feed_says_so(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", 'host,time,load\n"a \\", b",2024-05-01,1\n')
    assert inspected(path, escape="\\").timestamp == parse_instant("2024-05-01")
    assert inspected(path).timestamp is None


def test_other_delimiters_and_quotes_are_understood(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "host||time\n'x||y'||2024-05-01\n")
    found = inspected(path, delimiter="||", quote="'")
    assert found.columns == ("host", "time")
    assert found.timestamp == parse_instant("2024-05-01")
    assert inspected(path, delimiter="||", quote="").timestamp is None


def test_lines_across_chunks_are_counted_once(tmp_path: Path) -> None:
    lines = [f"2024-05-01T00:00:00Z,{'h' * (n % 1_000)},é\r\n" for n in range(9_000)]
    found = inspected(put(tmp_path / "a.csv", "time,host,load\r\n" + "".join(lines)))
    assert found.rows == 9_000
    assert found.size > 4_000_000


def test_json_lines_are_counted_whatever_they_hold(tmp_path: Path) -> None:
    text = '{"time": "2024-05-01", "b": 1}\n\nno json\n[1]\n{"c": 2, "time": 7}\n'
    found = inspected(put(tmp_path / "a.json", text), format=JsonFormat)
    assert (found.rows, found.columns) == (4, ("time", "b", "c"))
    assert found.timestamp == parse_instant("2024-05-01")
    empty = inspected(put(tmp_path / "b.json", "\n"), format=JsonFormat)
    assert (empty.rows, empty.columns, empty.timestamp) == (0, None, None)


def test_json_numbers_are_times_in_epoch_formats(tmp_path: Path) -> None:
    text = '{"time": 1714570200.5}\n{"time": "1714570100"}\n{"time": true}\n'
    found = inspected(put(tmp_path / "a.json", text), format=JsonFormat, time_format="epoch_seconds")
    assert found.timestamp == 1714570200.5


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("write_statistics", [True, False])
def test_parquet_timestamps_are_exact_with_and_without_statistics(
    tmp_path: Path, unit: str, zone: str | None, write_statistics: bool
) -> None:
    exact = datetime(2024, 5, 1, 13, 30, 0, 123_000 if unit == "ms" else 123_457, tzinfo=UTC)
    moments = [None, exact.replace(hour=1), exact, None] * 3
    plain = [moment and moment.replace(tzinfo=None) for moment in moments]
    times = pa.array(plain, pa.timestamp(unit)).cast(pa.timestamp(unit, tz=zone))
    path = put_parquet(
        tmp_path / "a.parquet",
        {"host": ["a"] * 12, "time": times},
        row_group_size=4,
        write_statistics=write_statistics,
    )
    found = inspected(path, format=ParquetFormat)
    assert (found.rows, found.columns) == (12, ("host", "time"))
    assert found.timestamp == exact.timestamp()


@pytest.mark.parametrize("write_statistics", [True, False])
@pytest.mark.parametrize(
    ("values", "time_format", "expected"),
    [
        (pa.array([date(2024, 5, 1), date(2024, 4, 1)]), None, "2024-05-01"),
        (pa.array([1714570200, None]), "epoch_seconds", "2024-05-01T13:30:00"),
        (pa.array([1714570200123, 9_000_000_000_000_000_000]), "epoch_millis", "2024-05-01T13:30:00.123"),
        (pa.array([1714570200.25]), "epoch_seconds", "2024-05-01T13:30:00.25"),
        (pa.array(["2024-05-01", "never", None]), None, "2024-05-01"),
        (pa.array([17]), None, None),
        (pa.array([None, None], pa.timestamp("us")), None, None),
        (pa.array([], pa.timestamp("us")), None, None),
        (pa.array([{"x": 1}]), None, None),
    ],
)
def test_other_parquet_time_columns_are_read(
    tmp_path: Path, values: pa.Array, time_format: str | None, expected: str | None, write_statistics: bool
) -> None:
    path = put_parquet(tmp_path / "a.parquet", {"time": values}, write_statistics=write_statistics)
    found = inspected(path, format=ParquetFormat, time_format=time_format)
    assert found.rows == len(values)
    assert found.timestamp == (parse_instant(expected) if expected else None)


def test_a_torn_gzip_file_is_unreadable(tmp_path: Path) -> None:
    packed = gzip.compress(CSV.encode() * 1_000)
    assert "torn" in fault(put(tmp_path / "a.csv.gz", packed[:-20])).reason
    assert "torn" in fault(put(tmp_path / "b.csv.gz", packed[:-4])).reason


def test_damaged_gzip_data_is_unreadable(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(CSV.encode()))
    packed[-6] ^= 0xFF
    assert "damaged" in fault(put(tmp_path / "a.csv.gz", bytes(packed))).reason
    assert "damaged" in fault(put(tmp_path / "b.csv.gz", gzip.compress(b"x") + b"rest")).reason


def test_a_gzip_file_that_unpacks_to_much_more_is_counted_in_pieces(tmp_path: Path) -> None:
    rows = 400_000
    packed = gzip.compress(b"time,host,load\n" + b"2024-05-01,a,1\n" * rows)
    assert inspected(put(tmp_path / "a.csv.gz", packed)).rows == rows


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_names_and_gzip_content_must_agree(tmp_path: Path, name: str) -> None:
    packed = put(tmp_path / name, gzip.compress(b"x"))
    assert "does not end in .gz" in fault(packed, format=CsvFormat if packed.suffix == ".csv" else JsonFormat).reason
    plain = put(tmp_path / f"{name}.gz", CSV)
    assert "does not hold gzip" in fault(plain).reason
    assert "is empty" in fault(put(tmp_path / "empty.csv.gz", "")).reason
    assert ".bz2" in fault(put(tmp_path / "a.csv.bz2", "")).reason


def test_bytes_that_are_not_in_the_feeds_encoding_are_named(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "time,host,load\n2024-05-01,Zürich,1\n".encode("latin-1"))
    assert "not valid utf-8 at byte 27 (0xfc)" in fault(path).reason
    found = inspected(path, encoding="iso-8859-1")
    assert (found.rows, found.timestamp) == (1, parse_instant("2024-05-01"))


def test_a_character_cut_off_at_the_end_is_named(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"time\n" + "é".encode()[:1])
    assert "not valid utf-8 at byte 5" in fault(path).reason


def test_a_wrong_byte_far_behind_split_characters_is_named_exactly(tmp_path: Path) -> None:
    good = "time\n" + "é" * 1_500_000
    path = put(tmp_path / "a.csv", good.encode() + b"\xff")
    assert f"at byte {len(good.encode())} " in fault(path).reason


def test_wide_encodings_are_read(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "time,hóst\r\n2024-05-01,é\r\n".encode("utf-16"))
    found = inspected(path, encoding="utf-16", multiline=True)
    assert (found.rows, found.columns) == (1, ("time", "hóst"))


def test_what_is_not_parquet_is_unreadable(tmp_path: Path) -> None:
    whole = put_parquet(tmp_path / "whole.parquet", {"time": ["2024-05-01"] * 100}).read_bytes()
    for content, words in ((b"", "empty"), (CSV.encode(), "not Parquet"), (whole[:-30], "torn")):
        assert words in fault(put(tmp_path / "a.parquet", content), format=ParquetFormat).reason
    broken = whole[:-40] + b"\xff" * 32 + whole[-8:]
    assert "Parquet" in fault(put(tmp_path / "b.parquet", broken), format=ParquetFormat).reason


def test_a_file_that_changed_after_it_settled_is_unreadable_and_has_no_hash(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", CSV)
    before = settled(path)
    put(path, CSV + "more")
    with pytest.raises(UnreadableFileError, match="still being written") as caught:
        inspect(make_feed(), before)
    assert caught.value.sha256 == ""


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("cpu_%Y%m%d%H%M*.csv", "cpu_202405011330_x.csv", "2024-05-01T13:30:00Z"),
        ("*-%Y-%j.csv", "a-b-2024-122.csv", "2024-05-01T00:00:00Z"),
        ("%s.csv", "1714570200.csv", "2024-05-01T13:30:00Z"),
        ("%Y%m%dT%H%M%S.%f%z.csv", "20240501T133000.5+0200.csv", "2024-05-01T11:30:00.5Z"),
        ("%d%b%y_%I%p_100%%.csv", "01May24_01PM_100%.csv", "2024-05-01T13:00:00Z"),
    ],
)
def test_a_timestamp_can_come_from_the_name(tmp_path: Path, pattern: str, name: str, expected: str) -> None:
    path = put(tmp_path / name)
    found = inspected(path, timestamp_from=TimestampFrom.NAME, name_pattern=pattern)
    assert found.timestamp == parse_instant(expected)


@pytest.mark.parametrize("name", ["cpu_2024.csv", "cpu_20241301.csv", "xcpu_20240501.csv"])
def test_a_name_that_does_not_match_is_named_with_the_pattern(tmp_path: Path, name: str) -> None:
    error = fault(put(tmp_path / name), timestamp_from=TimestampFrom.NAME, name_pattern="cpu_%Y%m%d.csv")
    assert name in error.reason
    assert "cpu_%Y%m%d.csv" in error.reason


def test_a_timestamp_can_be_the_modification_time(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", CSV, at=1_714_570_200.123_456)
    assert inspected(path, timestamp_from=TimestampFrom.MODIFIED).timestamp == 1_714_570_200.123_456


@pytest.mark.parametrize(
    "settings",
    [
        {"time_format": "Q"},
        {"timestamp_from": TimestampFrom.NAME},
        {"timestamp_from": TimestampFrom.NAME, "name_pattern": "%Q"},
        {"timestamp_from": TimestampFrom.NAME, "name_pattern": "cpu_%H.csv"},
        {"delimiter": ""},
        {"encoding": "klingon"},
        {"encoding": "cp1252"},
        {"encoding": "utf-16"},
        {"encoding": "iso-8859-1", "format": JsonFormat},
        {"delimiter": "||", "multiline": True},
        {"header": False, "time_column": "nowhere"},
    ],
)
def test_a_feed_whose_every_file_would_fail_is_found_out_before(settings: dict[str, Any]) -> None:
    with pytest.raises(FreshtideError):
        check_feed(make_feed(**settings))


def test_a_punctuation_file_holds_one_timestamp(tmp_path: Path) -> None:
    path = put(tmp_path / "p", "\ufeff \n2024-05-01T13:30:00+02:00\r\n")
    assert read_punctuation(path) == parse_instant("2024-05-01T11:30:00Z")


@pytest.mark.parametrize("content", [b"", b"soon", b"2024-05-01\n2024-05-02", b"\xff\xfe", b"x" * 5_000])
def test_a_punctuation_file_with_anything_else_is_unreadable(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UnreadableFileError):
        read_punctuation(put(tmp_path / "p", content))


def test_columns_of_json_come_from_the_first_thousand_records(tmp_path: Path) -> None:
    lines = [json.dumps({"time": "2024-05-01"})] * 1_000 + [json.dumps({"late": 1})]
    found = inspected(put(tmp_path / "a.json", "\n".join(lines)), format=JsonFormat)
    assert (found.rows, found.columns) == (1_001, ("time",))


def test_a_small_file_that_unpacks_to_very_much_is_not_taken_unless_the_feed_says_so(tmp_path: Path) -> None:
    text = b"time,host,load\n" + b"2024-05-01T12:00:00Z,a,1\n" * 100_000
    path = put(tmp_path / "a.csv.gz", gzip.compress(text))
    with pytest.raises(UnreadableFileError, match="set its `max_size`"):
        inspected(path, max_size=1_000_000)
    found = inspected(path, max_size=3_000_000)
    assert inspected(path) == found, "a few megabytes hurt nobody"
    assert (found.rows, found.unpacked) == (100_000, len(text))
    with pytest.raises(UnreadableFileError, match="100,000 rows, and feed 'cpu' takes 1,000"):
        inspected(path, max_size=3_000_000, max_rows=1_000)


def test_parquet_with_many_rows_in_few_bytes_is_not_even_read(tmp_path: Path) -> None:
    time = pa.repeat(pa.scalar(1_714_564_800_000_000, pa.timestamp("us", "UTC")), 10_000_000)
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"time": time}), path, compression="zstd", write_statistics=False)
    with pytest.raises(UnreadableFileError, match=r"10,000,000 rows.*max_size"):
        inspected(path, format=ParquetFormat)
    assert inspected(path, format=ParquetFormat, max_size=80_000_000).unpacked == 80_000_000
