"""Avro files before Spark sees them: blocks, packings, types, and stretches that have each row once."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.feeds import UnreadableFileError, inspect
from freshtide.feeds.avroblocks import AvroError, Block, Header, TooMuchError, blocks_of, read_header
from freshtide.feeds.avrotypes import arrow_type, value_of
from freshtide.feeds.formats import AvroFormat
from freshtide.feeds.formats.avro import batches_between, file_schema

from .samples import make_feed, put, settled

fastavro = pytest.importorskip("fastavro")
TEXT = "".join(map(str, range(1_500)))
NO_UUID = "00000000-0000-0000-0000-000000000000"
NOTHING = {"type": "record", "name": "nothing", "fields": []}


def snappy(text: bytes) -> bytes:
    return bytes(pa.Codec("snappy").compress(text, asbytes=True)) + zlib.crc32(text).to_bytes(4, "big")


def zstandard(text: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(text, asbytes=True))


def avro(rows: list[dict[str, Any]], interval: int = 16_000, **types: Any) -> bytes:
    fields = [{"name": name, "type": type_} for name, type_ in types.items()]
    sink = BytesIO()
    fastavro.writer(sink, {"type": "record", "name": "row", "fields": fields}, rows, sync_interval=interval)
    return sink.getvalue()


@pytest.mark.parametrize(("codec", "pack"), [("snappy", snappy), ("zstandard", zstandard), ("null", bytes)])
def test_a_block_is_unpacked_up_to_what_is_wanted(codec: str, pack: Any) -> None:
    block = Block(rows=1, packed=pack(TEXT.encode()), codec=codec)
    assert block.unpacked(len(TEXT)) == TEXT.encode()
    with pytest.raises(TooMuchError):
        block.unpacked(len(TEXT) - 1)


@pytest.mark.parametrize(("codec", "pack"), [("snappy", snappy), ("zstandard", zstandard), ("deflate", bytes)])
def test_a_block_that_is_not_all_that_was_packed_is_told(codec: str, pack: Any) -> None:
    packed = pack(TEXT.encode())
    with pytest.raises(AvroError):
        Block(rows=1, packed=packed[: len(packed) // 2], codec=codec).unpacked(10**6)
    with pytest.raises(AvroError, match="'lzo', which is none of"):
        Block(rows=1, packed=b"", codec="lzo").unpacked(1)


@pytest.mark.parametrize(
    ("schema", "value", "type_", "converted"),
    [
        (["null", "int", "long"], 2**40, pa.int64(), 2**40),
        (["float", "double"], 0.5, pa.float64(), 0.5),
        (["null", "string", "long"], 7, pa.string(), "7"),
        (["string", {"type": "array", "items": "int"}], [1, 2], pa.string(), "[1, 2]"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 1_500, pa.timestamp("us", tz="UTC"), 1_500_000),
        ({"type": "long", "logicalType": "timestamp-nanos"}, -1, pa.timestamp("us", tz="UTC"), -1),
        ({"type": "long", "logicalType": "timestamp-millis"}, 2**62, pa.timestamp("us", tz="UTC"), 2**63 - 1),
        ({"type": "long", "logicalType": "time-micros"}, 5, pa.int64(), 5),
        ({"type": "int", "logicalType": "date"}, 5, pa.date32(), 5),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 40},
            Decimal(7),
            pa.string(),
            '"7"',
        ),
        (
            {"type": "fixed", "size": 16, "name": "u", "logicalType": "uuid"},
            bytes(16),
            pa.string(),
            f"{'0' * 8}-0000-0000-0000-{'0' * 12}",
        ),
        ({"type": "map", "values": ["null", "int"]}, {"a": None}, pa.map_(pa.string(), pa.int32()), [("a", None)]),
    ],
)
def test_types_and_values_as_arrow_has_them(schema: Any, value: Any, type_: pa.DataType, converted: Any) -> None:
    assert arrow_type(schema) == type_
    assert value_of(schema)(value) == converted
    assert pa.array([converted], type_).null_count == 0


def test_what_could_be_without_end_is_no_type() -> None:
    for schema in (
        {"type": "array", "items": "null"},
        {"type": "map", "values": {"type": "record", "name": "r", "fields": []}},
        "itself",
    ):
        with pytest.raises(AvroError):
            arrow_type(schema)


def test_an_inspection_counts_the_rows_and_finds_the_newest_time(tmp_path: Path) -> None:
    instant = {"type": "long", "logicalType": "timestamp-micros"}
    moments = [datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC) for second in (5, 50, 20)]
    rows = [{"host": "a", "time": moment, "load": None} for moment in moments]
    content = avro(rows, host="string", time=instant, load=["null", "double"])
    found = inspect(make_feed(format=AvroFormat), settled(put(tmp_path / "a.avro", content)))
    assert (found.rows, found.columns, found.timestamp) == (3, ("host", "time", "load"), moments[1].timestamp())
    assert file_schema(str(tmp_path / "a.avro")).field("time").type == pa.timestamp("us", tz="UTC")


def test_a_few_bytes_that_say_to_be_many_rows_are_no_file(tmp_path: Path) -> None:
    """Rows of nothing but nulls take no room: a header, and a block of as many as there are numbers."""
    empty = avro([], time="null")
    many = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"\x00" + empty[-16:]
    with pytest.raises(UnreadableFileError, match="max_size"):
        inspect(make_feed(format=AvroFormat), settled(put(tmp_path / "a.avro", empty + many)))


@given(st.lists(st.integers(0, 10**6), max_size=200), st.integers(16, 400), st.integers(1, 900))
def test_stretches_have_each_row_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[int], interval: int, stretch: int
) -> None:
    path = tmp_path_factory.mktemp("avro") / "a.avro"
    path.write_bytes(avro([{"n": n} for n in rows], interval, n="long"))
    found = [
        n
        for start in range(0, path.stat().st_size, stretch)
        for batch in batches_between(str(path), start, start + stretch, ["n"])
        for n in batch.column(0).to_pylist()
    ]
    assert found == rows


@given(st.binary(max_size=300))
def test_any_bytes_are_blocks_or_a_fault_in_words(content: bytes) -> None:
    file = BytesIO(b"Obj\x01" + content)
    try:
        header: Header = read_header(file)
        for block in blocks_of(file, header):
            block.unpacked(1_000)
    except AvroError as error:
        assert str(error)
