"""What is in a file: one pass that hashes, checks, counts and finds the file's timestamp."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path

from freshtide.core.durations import format_duration
from freshtide.core.errors import TimestampError
from freshtide.core.feeds import Feed, TimestampFrom
from freshtide.core.instants import format_instant, parse_instant, seconds
from freshtide.feeds.content import Content, Wanted
from freshtide.feeds.errors import UnreadableFileError, VanishedFileError
from freshtide.feeds.filenames import name_pattern
from freshtide.feeds.formats import format_of
from freshtide.feeds.localtimes import local_times, zone_of
from freshtide.feeds.rawfiles import RawFile
from freshtide.feeds.timeformats import check_time_format
from freshtide.feeds.watching import SettledFile
from freshtide.world import Disk

_LONGEST_PUNCTUATION = 1_024
# Half of a surrogate pair, which is no text, and what no database takes.
_NOT_IN_NAMES = re.compile("[\ud800-\udfff\0]")


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


def inspect(feed: Feed, settled: SettledFile, disk: Disk | None = None) -> Inspection:
    """Read a settled file once. An UnreadableFileError says what is wrong with it, and carries its hash."""
    with _opened(settled, disk) as raw:
        timestamp: float | None
        if settled.is_punctuation:
            content, timestamp = Content(rows=0, columns=None), _punctuation(raw, zone_of(feed.time_zone))
        else:
            # The name comes first: a misnamed file is not worth parsing.
            outside = _timestamp_outside(feed, settled)
            wanted = Wanted(latest=outside is None, upto=_latest_allowed(feed, settled))
            content = format_of(feed).read(feed, raw, wanted)
            _require_text(content.columns or ())
            timestamp = content.latest if outside is None else outside
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
    stamped_by = feed.folder.timestamp_from
    place = "punctuation" if settled.is_punctuation else f"{stamped_by} (timestamp: {stamped_by})"
    raise UnreadableFileError(
        f"By its {place} the file is of {_told(timestamp)}, which is more than "
        f"{format_duration(feed.time.future_limit or 0.0)} after it came.",
        way_out="Mend it, or set the feed's `future_limit`.",
    )


def _latest_allowed(feed: Feed, settled: SettledFile) -> float | None:
    """The newest time that is not of the future."""
    if feed.time.future_limit is None or settled.seen_at is None:
        return None
    return settled.seen_at + feed.time.future_limit


def _told(timestamp: float) -> str:
    try:
        return format_instant(timestamp)
    except (OverflowError, ValueError):
        return f"{timestamp:.0f} seconds after 1970"


def read_punctuation(path: str | Path) -> float:
    """The one timestamp that a punctuation file holds; without a zone it is UTC."""
    with RawFile(str(path)) as raw:
        return _punctuation(raw, UTC)


def check_feed(feed: Feed) -> None:
    """Raise what would make every file of the feed fail, before any file does."""
    local_times(feed.time_zone)
    check_time_format(feed.time.format)
    if feed.folder.timestamp_from is TimestampFrom.NAME:
        name_pattern(feed.folder.name_pattern)
    format_of(feed).check(feed)


@contextmanager
def _opened(settled: SettledFile, disk: Disk | None) -> Iterator[RawFile]:
    """The open file; what goes wrong while it is read leaves with the hash of the whole file."""
    with RawFile(settled.path, disk) as raw:
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


def _timestamp_outside(feed: Feed, settled: SettledFile) -> float | None:
    """The time stamp of a file by what can be told without opening it; None: its rows have to tell."""
    match feed.folder.timestamp_from:
        case TimestampFrom.NAME:
            pattern, zone = name_pattern(feed.folder.name_pattern), zone_of(feed.time_zone)
            return pattern.timestamp(settled.path.rpartition("/")[2], zone)
        case TimestampFrom.MODIFIED:
            return seconds(settled.modified_ns // 1_000)
        case TimestampFrom.CONTENT:
            return None


def _require_text(names: Iterable[str]) -> None:
    """A column must have a name that can be written down."""
    for name in names:
        if _NOT_IN_NAMES.search(name):
            raise UnreadableFileError(
                f"A column has a name that cannot be stored: {ascii(name)[:80]}.",
                way_out="Mend the file: names are text.",
            )


def _punctuation(raw: RawFile, zone: tzinfo) -> float:
    held = b""
    for chunk in raw.chunks():
        held += chunk
        if len(held) > _LONGEST_PUNCTUATION:
            raise UnreadableFileError("A punctuation file holds one timestamp; this one is much longer.")
    try:
        return parse_instant(held.decode("utf-8-sig"), zone=zone)
    except UnicodeDecodeError:
        raise UnreadableFileError("The punctuation file is not text.") from None
    except TimestampError as error:
        raise UnreadableFileError(
            f"A punctuation file holds one timestamp: {error.message}", way_out=error.way_out
        ) from None
