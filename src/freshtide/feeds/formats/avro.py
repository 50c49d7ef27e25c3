"""Avro files: blocks of rows, which fastavro decodes.

On arrival every block is unpacked and walked through, and the time column alone is decoded. Numbers stay numbers then:
what a logical type makes of them comes about in Arrow, which knows times that Python has no object for.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import Any

import pyarrow as pa

from freshtide.core.feeds import Feed, Format
from freshtide.feeds.arrowfiles import BYTES_PER_VALUE, ArrowTimes, largest
from freshtide.feeds.avroblocks import (
    AvroError,
    Block,
    Header,
    TooMuchError,
    blocks_between,
    blocks_of,
    read_header,
)
from freshtide.feeds.avrotypes import INSTANT, LOCAL, arrow_type, fields_of, undressed, value_of
from freshtide.feeds.columnfaults import fault_of_columns
from freshtide.feeds.content import Content, Wanted
from freshtide.feeds.errors import UnreadableFileError, unread
from freshtide.feeds.formats.format import require_encoding
from freshtide.feeds.limits import Limits, limits_of
from freshtide.feeds.rawfiles import RawFile

# So many rows at least come together, if there are as many: Arrow is quick with thousands.
_TOGETHER = 8_192
# What the library raises where bytes are not what the schema says.
_UNDECODABLE = (ArithmeticError, EOFError, LookupError, TypeError, ValueError, struct.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroFormat(Format):
    """There are no options: a file says it all."""

    name = "avro"


class AvroFiles:
    """A file has columns of types that it knows."""

    options = AvroFormat
    title = "Avro"
    aliases = ()
    extensions = (".avro",)

    def check(self, feed: Feed) -> None:
        require_encoding(feed)

    def read(self, feed: Feed, raw: RawFile, wanted: Wanted) -> Content:
        size, _ = raw.signature
        if size == 0:
            raise UnreadableFileError("The file is empty, without even an Avro header.")
        limits = limits_of(feed, packed=size)
        raw.hold_to(limits)
        with _breakage_told(raw.path):
            file = BufferedReader(_Hashed(raw))
            header = read_header(file)
            columns = tuple(fields_of(header.schema))
            only = feed.time.column if wanted.latest and feed.time.column in columns else None
            decoder = _Decoder(header, [] if only is None else [only])
            times, latest, rows = ArrowTimes(feed=feed, upto=wanted.upto), None, 0
            for block in blocks_of(file, header):
                rows += block.rows
                limits.check(size=rows * max(1, len(columns)) * BYTES_PER_VALUE, rows=rows)
                found = decoder.batch(_unpacked(block, raw, limits), block.rows)
                latest = latest if only is None else largest([latest, times.latest(found.column(0))])
        unpacked = max(raw.unpacked, rows * len(columns) * BYTES_PER_VALUE)
        return Content(rows=rows, columns=columns, latest=latest, unpacked=unpacked)

    def column_fault(self, feed: Feed, columns: tuple[str, ...]) -> str | None:
        return fault_of_columns(feed, columns)


def file_schema(path: str) -> pa.Schema:
    """The columns of a file with their types."""
    with _breakage_told(path), Path(path).open("rb") as file:
        return pa.schema([(name, arrow_type(type_)) for name, type_ in fields_of(read_header(file).schema).items()])


def batches_between(path: str, start: int, end: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Columns of the rows in a stretch of a file; adjoining stretches have each row once.

    Spark takes only instants: times without a zone come as if they were of UTC.
    """
    with Path(path).open("rb") as file:
        header = read_header(file)
        decoder = _Decoder(header, columns, local=INSTANT)
        held: list[Mapping[str, Any]] = []
        for block in blocks_between(file, header, start, end):
            held += decoder.rows(block.unpacked(sys.maxsize - 1), block.rows)
            if len(held) >= _TOGETHER:
                yield decoder.as_arrow(held)
                held = []
        if held:
            yield decoder.as_arrow(held)


class _Decoder:
    """Makes rows of blocks: some of the columns, the others are passed over."""

    def __init__(self, header: Header, columns: Sequence[str], *, local: pa.DataType = LOCAL) -> None:
        import fastavro
        from fastavro.schema import SchemaParseException

        fields = fields_of(header.schema)
        self._read = fastavro.schemaless_reader
        self._values = {name: value_of(fields[name]) for name in columns}
        self._schema = pa.schema([(name, arrow_type(fields[name], local=local)) for name in columns])
        record = undressed(header.schema)
        try:
            self._writer: Any = fastavro.parse_schema(record)
        except Exception as error:  # whatever a schema that is none makes the library stumble over
            raise AvroError(f"its schema cannot be understood: {type(error).__name__} {error}") from error
        self._reader: Any = None
        if set(fields) - set(columns):
            chosen = [{"name": name, "type": undressed(fields[name])} for name in columns]
            # A type that is spelt out twice is refused: then all columns are decoded.
            with suppress(SchemaParseException):
                self._reader = fastavro.parse_schema({**record, "fields": chosen})

    def batch(self, unpacked: bytes, count: int) -> pa.RecordBatch:
        return self.as_arrow(self.rows(unpacked, count))

    def rows(self, unpacked: bytes, count: int) -> list[Mapping[str, Any]]:
        rest = BytesIO(unpacked)
        try:
            found: list[Any] = [self._read(rest, self._writer, self._reader) for _ in range(count)]
        except _UNDECODABLE as error:
            raise AvroError(f"a row cannot be decoded: {type(error).__name__} {error}".rstrip()) from error
        if rest.tell() != len(unpacked):
            raise AvroError("a block holds more than its rows")
        return found

    def as_arrow(self, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        columns = [
            pa.array([value(row[name]) for row in rows], self._schema.field(name).type)
            for name, value in self._values.items()
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _unpacked(block: Block, raw: RawFile, limits: Limits) -> bytes:
    """A block within the limits of its feed."""
    most = sys.maxsize - 1 if limits.size is None else max(0, limits.size - raw.unpacked)
    try:
        return raw.count(block.unpacked(most))
    except TooMuchError as error:
        limits.check(size=raw.unpacked + error.least)
        raise


@contextmanager
def _breakage_told(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unread(path, error) from error
    except AvroError as error:
        raise UnreadableFileError(f"The Avro file is broken: {error}.") from error


class _Hashed(RawIOBase):
    """A file that is hashed as it is read, to be read in portions of any size."""

    def __init__(self, raw: RawFile) -> None:
        self._chunks = raw.chunks()
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        self._rest = self._rest or next(self._chunks, b"")
        portion, self._rest = self._rest[: len(into)], self._rest[len(into) :]
        into[: len(portion)] = portion
        return len(portion)
