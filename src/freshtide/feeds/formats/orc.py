"""ORC files: rows and columns from the footer, times from the time column, stripe by stripe."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyarrow import orc

from freshtide.core.feeds import Feed, Format
from freshtide.feeds.arrowfiles import BYTES_PER_VALUE, ArrowTimes, largest, reading_with_arrow
from freshtide.feeds.columnfaults import fault_of_columns
from freshtide.feeds.content import Content, Wanted
from freshtide.feeds.errors import UnreadableFileError
from freshtide.feeds.formats.format import require_encoding
from freshtide.feeds.limits import limits_of
from freshtide.feeds.rawfiles import RawFile

_MAGIC = b"ORC"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcFormat(Format):
    """There are no options: a file says it all."""

    name = "orc"


class OrcFiles:
    """A file has columns of types that it knows."""

    options = OrcFormat
    title = "ORC"
    aliases = ()
    extensions = (".orc",)

    def check(self, feed: Feed) -> None:
        require_encoding(feed)

    def read(self, feed: Feed, raw: RawFile, wanted: Wanted) -> Content:
        _check_magic(*raw.ends(len(_MAGIC) + 1))
        size, _ = raw.signature
        with reading_with_arrow(raw.path, "ORC"), raw.opened_again() as stream:
            file = orc.ORCFile(stream)
            names = tuple(file.schema.names)
            rows, unpacked = file.nrows, max(file.content_length, file.nrows * len(names) * BYTES_PER_VALUE)
            limits_of(feed, packed=size).check(size=unpacked, rows=rows)
            has_times = wanted.latest and names.count(feed.time.column) == 1
            latest = _latest(ArrowTimes(feed=feed, upto=wanted.upto), file) if has_times else None
        return Content(rows=rows, columns=names, latest=latest, unpacked=unpacked)

    def column_fault(self, feed: Feed, columns: tuple[str, ...]) -> str | None:
        return fault_of_columns(feed, columns)


def file_schema(path: str) -> pa.Schema:
    """The columns of a file with their types."""
    with reading_with_arrow(path, "ORC"):
        return orc.ORCFile(path).schema


def _check_magic(head: bytes, tail: bytes) -> None:
    """Say in plain words what is wrong with the commonest kinds of files that are no ORC."""
    if not head:
        raise UnreadableFileError("The file is empty, without even an ORC footer.")
    if not head.startswith(_MAGIC):
        raise UnreadableFileError("The file is not ORC: it does not start with ORC.")
    # The very last byte says how long the end of the footer is.
    if tail[:-1] != _MAGIC:
        raise UnreadableFileError("The ORC file is torn: its footer is missing.", way_out="Transfer the file again.")


def _latest(times: ArrowTimes, file: orc.ORCFile) -> float | None:
    column = times.feed.time.column
    stripes = (file.read_stripe(stripe, columns=[column]) for stripe in range(file.nstripes))
    return largest(times.latest(stripe.column(0)) for stripe in stripes)
