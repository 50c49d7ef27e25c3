"""What is in a file: one pass that hashes, checks, counts and finds the file's timestamp."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from freshtide.core.durations import format_duration
from freshtide.core.errors import FreshtideError, TimestampError
from freshtide.core.instants import format_instant, parse_instant, seconds
from freshtide.core.tables import Feed, FileFormat, TimestampFrom
from freshtide.feeds.content import Content, LatestTime
from freshtide.feeds.csvfiles import read_csv
from freshtide.feeds.errors import UnreadableFileError, VanishedFileError
from freshtide.feeds.filenames import name_pattern
from freshtide.feeds.jsonfiles import read_json
from freshtide.feeds.limits import limits_of
from freshtide.feeds.parquetfiles import check_magic, read_parquet
from freshtide.feeds.rawfiles import RawFile
from freshtide.feeds.timeformats import check_time_format
from freshtide.feeds.watching import SettledFile

_LONGEST_PUNCTUATION = 1_024
# Half of a surrogate pair, which is no text, and what no database takes.
_NOT_IN_NAMES = re.compile("[\ud800-\udfff\0]")
# By the names that Spark knows them by.
_UTF8 = "utf-8"
_NARROW = ("us-ascii", "iso-8859-1")
_WIDE = ("utf-16", "utf-16be", "utf-16le", "utf-32")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A file that can be loaded."""

    sha256: str
    size: int
    modified_ns: int
    rows: int
    columns: tuple[str, ...] | None
    timestamp: float | None
    unpacked: int | None = None

    @property
    def has_rows(self) -> bool:
        return self.rows > 0


def inspect(feed: Feed, settled: SettledFile) -> Inspection:
    """Read a settled file once. An UnreadableFileError says what is wrong with it, and carries its hash."""
    with _opened(settled) as raw:
        content, timestamp = _read_punctuation(raw) if settled.is_punctuation else _read_data(feed, settled, raw)
        _require_present(feed, settled, timestamp)
        sha256, signature = raw.sha256(), raw.signature
    if signature != (settled.size, settled.modified_ns):
        # Without a hash: a mixture of two states must not be taken for the content that settles later.
        raise UnreadableFileError(
            "The file was still being written after it seemed to have settled.",
            way_out="It is read again once it is quiet; a longer `settle` avoids this.",
        )
    return Inspection(
        sha256=sha256,
        size=settled.size,
        modified_ns=settled.modified_ns,
        rows=content.rows,
        columns=content.columns,
        timestamp=timestamp,
        unpacked=content.unpacked,
    )


def _require_present(feed: Feed, settled: SettledFile, timestamp: float | None) -> None:
    """A time stamp of the future would say that the table is complete up to a time that has not come."""
    upto = _latest_allowed(feed, settled)
    if timestamp is None or upto is None or timestamp <= upto:
        return
    place = "punctuation" if settled.is_punctuation else f"{feed.timestamp_from} (timestamp: {feed.timestamp_from})"
    raise UnreadableFileError(
        f"By its {place} the file is of {_told(timestamp)}, which is more than "
        f"{format_duration(feed.future_limit or 0.0)} after it came.",
        way_out="Mend it, or set the feed's `future_limit`.",
    )


def _latest_allowed(feed: Feed, settled: SettledFile) -> float | None:
    """The newest time that is not of the future."""
    if feed.future_limit is None or settled.seen_at is None:
        return None
    return settled.seen_at + feed.future_limit


def _told(timestamp: float) -> str:
    try:
        return format_instant(timestamp)
    except (OverflowError, ValueError):
        return f"{timestamp:.0f} seconds after 1970"


def read_punctuation(path: str | Path) -> float:
    """The one timestamp that a punctuation file holds."""
    with RawFile(str(path)) as raw:
        return _punctuation(raw)


def check_feed(feed: Feed) -> None:
    """Raise what would make every file of the feed fail, before any file does."""
    check_time_format(feed.time_format)
    readable = _readable_encodings(feed)
    if feed.encoding.lower() not in readable:
        raise FreshtideError(
            f"Feed '{feed.name}' has an encoding that Spark cannot read its files in: '{feed.encoding}'.",
            way_out=f"Write one of {', '.join(readable)}.",
        )
    if feed.timestamp_from is TimestampFrom.NAME:
        name_pattern(feed.name_pattern)
    if feed.format is not FileFormat.CSV:
        return
    if not feed.delimiter:
        raise FreshtideError(f"Feed '{feed.name}' has an empty delimiter.", way_out="Write one, like ','.")
    if feed.multiline and any(len(mark) > 1 for mark in (feed.delimiter, feed.quote, feed.escape)):
        raise FreshtideError(
            f"Feed '{feed.name}' is multiline with a delimiter, quote or escape of several characters.",
            way_out="Use single characters.",
        )
    if not feed.header and feed.time_column not in feed.column_names:
        raise FreshtideError(
            f"Feed '{feed.name}' does not declare its time column '{feed.time_column}'.",
            way_out="Without a header its place must come from the schema: add it there.",
        )


def _readable_encodings(feed: Feed) -> tuple[str, ...]:
    """Those that Spark reads the feed's files in; Parquet has none of its own."""
    if feed.format is not FileFormat.CSV:
        return (_UTF8,)
    # Spark looks for the ends of lines before it decodes them, unless it takes a file as a whole.
    return (_UTF8, *_NARROW, *_WIDE) if feed.multiline else (_UTF8, *_NARROW)


@contextmanager
def _opened(settled: SettledFile) -> Iterator[RawFile]:
    """The open file; what goes wrong while it is read leaves with the hash of the whole file."""
    with RawFile(settled.path) as raw:
        try:
            yield raw
        except VanishedFileError:
            raise
        except UnreadableFileError as error:
            raise error.with_sha256(_sha256_if_possible(raw)) from error


def _sha256_if_possible(raw: RawFile) -> str:
    try:
        return raw.sha256()
    except UnreadableFileError:
        return ""


def _read_punctuation(raw: RawFile) -> tuple[Content, float | None]:
    return Content(rows=0, columns=None), _punctuation(raw)


def _read_data(feed: Feed, settled: SettledFile, raw: RawFile) -> tuple[Content, float | None]:
    # The name comes first: a misnamed file is not worth parsing.
    is_named = feed.timestamp_from is TimestampFrom.NAME
    named = name_pattern(feed.name_pattern).timestamp(raw.name) if is_named else None
    content = _content(feed, settled, raw)
    _require_text(content.columns or ())
    if feed.timestamp_from is TimestampFrom.MODIFIED:
        return content, seconds(settled.modified_ns // 1_000)
    return content, named if is_named else content.latest


def _require_text(names: Iterable[str]) -> None:
    """A column must have a name that can be written down."""
    for name in names:
        if _NOT_IN_NAMES.search(name):
            raise UnreadableFileError(
                f"A column has a name that cannot be stored: {ascii(name)[:80]}.",
                way_out="Mend the file: names are text.",
            )


def _content(feed: Feed, settled: SettledFile, raw: RawFile) -> Content:
    with_latest = feed.timestamp_from is TimestampFrom.CONTENT
    if feed.format is FileFormat.PARQUET:
        head = tail = b""
        for chunk in raw.chunks():
            head = head or chunk[:4]
            tail = (tail + chunk[-4:])[-4:]
        check_magic(settled.size, head, tail)
        return read_parquet(feed, settled.path, with_latest=with_latest, upto=_latest_allowed(feed, settled))
    latest = LatestTime(feed.time_format, upto=_latest_allowed(feed, settled)) if with_latest else None
    read = read_csv if feed.format is FileFormat.CSV else read_json
    limits = limits_of(feed, packed=settled.size if raw.name.endswith(".gz") else None)
    raw.hold_to(limits)
    content = read(feed, raw, latest)
    limits.check(size=raw.unpacked, rows=content.rows)
    return replace(content, unpacked=raw.unpacked)


def _punctuation(raw: RawFile) -> float:
    held = b""
    for chunk in raw.chunks():
        held += chunk
        if len(held) > _LONGEST_PUNCTUATION:
            raise UnreadableFileError("A punctuation file holds one timestamp; this one is much longer.")
    try:
        return parse_instant(held.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UnreadableFileError("The punctuation file is not text.") from None
    except TimestampError as error:
        raise UnreadableFileError(
            f"A punctuation file holds one timestamp: {error.message}", way_out=error.way_out
        ) from None
