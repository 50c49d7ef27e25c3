"""The bytes of a file, read once: hashed as they lie on disk, unpacked and checked on the way."""

from __future__ import annotations

import codecs
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from freshtide.feeds.errors import UnreadableFileError, unread
from freshtide.feeds.limits import Limits
from freshtide.feeds.settling import Signature
from freshtide.world import Disk, OpenFile, OsDisk

_CHUNK = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_LONGEST_LINE = 1 << 28
# Hadoop's codecs: Spark would unpack these by name, and only by name.
_OTHER_PACKED = (".bz2", ".zst", ".lz4", ".snappy", ".deflate")


class RawFile:
    """A file that is hashed as it is read."""

    def __init__(self, path: str, disk: Disk | None = None) -> None:
        self.name = Path(path).name
        self.path = path
        self._disk = disk or OsDisk()
        try:
            self._stream = self._disk.open(path)
        except OSError as error:
            raise unread(path, error) from error
        self._hash = hashlib.sha256()
        self._limits: Limits | None = None
        self.unpacked = 0
        """Bytes of text that have come out of it."""

    def __enter__(self) -> RawFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()

    @property
    def signature(self) -> Signature:
        """Size and modification time of the very file that is open, whatever its name leads to by now."""
        seen = self._stream.look()
        return seen.st_size, seen.st_mtime_ns

    def opened_again(self) -> OpenFile:
        """The same file for whoever reads here and there in it."""
        return self._disk.open(self.path)

    def hold_to(self, limits: Limits) -> None:
        """Let it unpack to no more than this."""
        self._limits = limits

    def count(self, unpacked: bytes) -> bytes:
        """The same bytes, counted."""
        self.unpacked += len(unpacked)
        if self._limits is not None:
            self._limits.check(size=self.unpacked)
        return unpacked

    def chunks(self) -> Iterator[bytes]:
        try:
            while chunk := self._stream.read(_CHUNK):
                self._hash.update(chunk)
                yield chunk
        except OSError as error:
            raise unread(self.path, error) from error

    def ends(self, length: int) -> tuple[bytes, bytes]:
        """The first and the last bytes, of which the rest is read as well."""
        head = tail = b""
        for chunk in self.chunks():
            head = head or chunk[:length]
            tail = (tail + chunk[-length:])[-length:]
        return head, tail

    def sha256(self) -> str:
        """The hash of the whole file, of which the rest is read if need be."""
        for _ in self.chunks():
            pass
        return self._hash.hexdigest()


def line_blocks(raw: RawFile, encoding: str) -> Iterator[list[bytes]]:
    r"""The lines of a text file as UTF-8, many at a time; they end at \n, \r\n or \r, as they do for Spark."""
    parts: list[bytes] = []
    length = 0
    for chunk in _text(map(raw.count, _unpacked(raw)), encoding):
        parts.append(chunk)
        length += len(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            if length > _LONGEST_LINE:
                raise UnreadableFileError(f"The file has a line of more than {_LONGEST_LINE >> 20} MiB.")
            continue
        block = b"".join(parts)
        # A \r at the very end may be half of a \r\n.
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
        if end:
            yield block[:end].splitlines()
        parts = [block[end:]]
        length = len(parts[0])
    yield b"".join(parts).splitlines()


def _unpacked(raw: RawFile) -> Iterator[bytes]:
    """The content of a file, unpacked if its name ends in .gz: Spark decides by name as well."""
    if raw.name.endswith(_OTHER_PACKED):
        raise UnreadableFileError(
            f"Files packed as '{Path(raw.name).suffix}' are not supported.", way_out="Use gzip, or none."
        )
    chunks = raw.chunks()
    first = next(chunks, b"")
    if raw.name.endswith(".gz"):
        if not first.startswith(_GZIP_MAGIC):
            what = "is empty" if not first else "does not hold gzip data"
            raise UnreadableFileError(f"The name ends in .gz but the file {what}.")
        yield from _gunzipped(first, chunks)
        return
    if first.startswith(_GZIP_MAGIC):
        raise UnreadableFileError(
            "The file holds gzip data but its name does not end in .gz.",
            way_out="Rename it: Spark unpacks by name.",
        )
    yield first
    yield from chunks


def _gunzipped(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    packed = first
    try:
        while True:
            # The limit keeps memory constant: a packed megabyte can hold a gigabyte.
            yield unpacker.decompress(packed, _CHUNK)
            if unpacker.eof:
                packed = unpacker.unused_data or next(chunks, b"")
                if not packed:
                    return
                unpacker = zlib.decompressobj(wbits=31)  # gzip files may be concatenated
                continue
            packed = unpacker.unconsumed_tail or next(chunks, b"")
            if not packed:
                break
    except zlib.error as error:
        raise UnreadableFileError(f"The gzip data is damaged: {error}.") from error
    raise UnreadableFileError("The gzip data is torn: it ends too early.", way_out="Transfer the file again.")


def _text(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """The content as UTF-8, without a byte order mark, checked to be valid in its encoding."""
    try:
        name = codecs.lookup(encoding).name
        decoder = codecs.getincrementaldecoder(encoding)("strict")
    except LookupError:
        raise UnreadableFileError(f"There is no encoding '{encoding}'.") from None
    is_utf8 = name in ("utf-8", "ascii")
    done = 0
    head = b""
    is_head = True
    for chunk in _and_end(chunks):
        held = decoder.getstate()[0]
        try:
            if is_utf8 and not held and chunk.isascii():
                text = chunk
            elif is_utf8:
                decoder.decode(chunk, final=not chunk)
                text = chunk
            else:
                text = decoder.decode(chunk, final=not chunk).encode()
        except UnicodeDecodeError as error:
            at = done - len(held) + error.start
            raise UnreadableFileError(
                f"The file is not valid {encoding} at byte {at} (0x{error.object[error.start]:02x}).",
                way_out="Write it so, or set the feed's encoding.",
            ) from None
        done += len(chunk)
        if is_head:
            head += text
            if len(head) < len(codecs.BOM_UTF8) and chunk:
                continue
            text, is_head = head.removeprefix(codecs.BOM_UTF8), False
        yield text


def _and_end(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks that are not empty, and an empty one that ends them."""
    for chunk in chunks:
        if chunk:
            yield chunk
    yield b""
