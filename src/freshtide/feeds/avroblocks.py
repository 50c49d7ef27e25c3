"""The container of Avro files: a header with the schema, then blocks of rows, each packed by itself.

Between blocks stands a marker that each file draws for itself. So a large file can be read from several places at once,
and what is torn is found without a row being decoded.
"""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

_MAGIC = b"Obj\x01"
_MARKER = 16
_AT_ONCE = 1 << 20
_CHECKSUM = 4
_LONGEST_NUMBER = 10
_TORN = "it ends too early"


class AvroError(ValueError):
    """What is wrong with a file, in words that go on from 'The Avro file is broken:'."""


class TooMuchError(AvroError):
    """A block that unpacks to more than is wanted."""

    def __init__(self, least: int) -> None:
        super().__init__(f"a block unpacks to {least:,} bytes or more")
        self.least = least


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the blocks of a file have in common."""

    schema: Any
    """As JSON has it."""
    codec: str
    marker: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some rows, packed."""

    rows: int
    packed: bytes
    codec: str

    def unpacked(self, most: int) -> bytes:
        """The bytes of the rows; a TooMuchError where these are more than `most`."""
        unpack = _CODECS.get(self.codec)
        if unpack is None:
            raise AvroError(f"its blocks are packed as '{self.codec}', which is none of {', '.join(_CODECS)}")
        try:
            found = unpack(self.packed, most)
        except (zlib.error, OSError, EOFError, lzma.LZMAError, pa.ArrowException) as error:
            raise AvroError(f"a block cannot be unpacked: {error}") from error
        if len(found) > most:
            raise TooMuchError(len(found))
        return found


def read_header(file: BinaryIO) -> Header:
    """Of a file that stands at its beginning; after it, the file stands at its first block."""
    if _exactly(file, len(_MAGIC)) != _MAGIC:
        raise AvroError("it does not start as Avro files do")
    known = _metadata(file)
    try:
        schema = json.loads(known["avro.schema"])
        codec = known.get("avro.codec", b"null").decode()
    except (KeyError, ValueError, RecursionError):
        raise AvroError("its header has no schema") from None
    return Header(schema=schema, codec=codec, marker=_exactly(file, _MARKER))


def blocks_of(file: BinaryIO, header: Header) -> Iterator[Block]:
    """The blocks from where a file stands to its end."""
    while (first := file.read(1)) != b"":
        yield _block(file, header, first)


def blocks_between(file: BinaryIO, header: Header, start: int, end: int) -> Iterator[Block]:
    """The blocks with a marker before them that begins in [start, end): each is in one of adjoining stretches."""
    file.seek(start)
    if not _seek_marker(file, header.marker):
        return
    while file.tell() - _MARKER < end and (first := file.read(1)) != b"":
        yield _block(file, header, first)


def _seek_marker(file: BinaryIO, marker: bytes) -> bool:
    """Go on to just behind the next marker; whether there is one."""
    begins = file.tell()
    held = b""
    while chunk := file.read(_AT_ONCE):
        held += chunk
        found = held.find(marker)
        if found >= 0:
            file.seek(begins + found + _MARKER)
            return True
        passed = max(0, len(held) - _MARKER + 1)
        begins, held = begins + passed, held[passed:]
    return False


def _block(file: BinaryIO, header: Header, first: bytes) -> Block:
    rows, size = _number(file, first), _number(file)
    if rows < 0 or size < 0:
        raise AvroError("a block has a negative size")
    packed = _exactly(file, size)
    if _exactly(file, _MARKER) != header.marker:
        raise AvroError("the marker behind a block is missing")
    return Block(rows=rows, packed=packed, codec=header.codec)


def _metadata(file: BinaryIO) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    while (count := _number(file)) != 0:
        if count < 0:
            _number(file)  # how many bytes it takes, for who wants to skip it
        for _ in range(abs(count)):
            key = _exactly(file, _number(file)).decode(errors="replace")
            found[key] = _exactly(file, _number(file))
    return found


def _number(file: BinaryIO, first: bytes = b"") -> int:
    """A whole number of as many bytes as it needs, the sign last."""
    value = 0
    for place in range(_LONGEST_NUMBER):
        byte = (first if place == 0 and first else _exactly(file, 1))[0]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise AvroError("a number has no end")


def _exactly(file: BinaryIO, size: int) -> bytes:
    """So many bytes. They are asked for in portions: what a broken file says may be more than there is memory."""
    if size < 0:
        raise AvroError("a text has a negative size")
    parts: list[bytes] = []
    while size > 0:
        part = file.read(min(size, _AT_ONCE))
        if not part:
            raise AvroError(_TORN)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _by(decompressor: Callable[[], Any]) -> Callable[[bytes, int], bytes]:
    def unpack(packed: bytes, most: int) -> bytes:
        unpacker = decompressor()
        found: bytes = unpacker.decompress(packed, most + 1)
        if len(found) <= most and not unpacker.eof:
            raise EOFError(_TORN)
        return found

    return unpack


def _snappy(packed: bytes, most: int) -> bytes:
    size, place = 0, 0
    while True:
        if place == min(len(packed), _LONGEST_NUMBER):
            raise EOFError(_TORN)
        size |= (packed[place] & 0x7F) << (7 * place)
        place += 1
        if packed[place - 1] < 0x80:
            break
    if size > most:
        raise TooMuchError(size)
    found: bytes = pa.Codec("snappy").decompress(packed[:-_CHECKSUM], size, asbytes=True)
    if zlib.crc32(found) != int.from_bytes(packed[-_CHECKSUM:]):
        raise EOFError("its checksum is another one")
    return found


def _zstandard(packed: bytes, most: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as unpacker:
        found: bytes = unpacker.read(most + 1)
        return found


_CODECS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "null": lambda packed, _: packed,
    "deflate": _by(lambda: zlib.decompressobj(wbits=-15)),
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": _by(bz2.BZ2Decompressor),
    "xz": _by(lzma.LZMADecompressor),
}
