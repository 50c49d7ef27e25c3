"""What the formats whose files are text have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Feed
from freshtide.feeds.content import Content, LatestTime, Wanted
from freshtide.feeds.errors import UnreadableFileError, VanishedFileError
from freshtide.feeds.limits import limits_of
from freshtide.feeds.rawfiles import RawFile


def packed_or_not(*extensions: str) -> tuple[str, ...]:
    """The same names, and those of files that are packed with gzip."""
    return (*extensions, *(f"{extension}.gz" for extension in extensions))


def read_text(
    feed: Feed, raw: RawFile, wanted: Wanted, read: Callable[[Feed, RawFile, LatestTime | None], Content]
) -> Content:
    """What `read` finds in a file, within the limits of its feed."""
    size, _ = raw.signature
    limits = limits_of(feed, packed=size if raw.name.endswith(".gz") else None)
    raw.hold_to(limits)
    latest = LatestTime(feed.time.format, zone=feed.zone_of_times, upto=wanted.upto) if wanted.latest else None
    content = read(feed, raw, latest)
    limits.check(size=raw.unpacked, rows=content.rows)
    return replace(content, unpacked=raw.unpacked)


def holds(what: Callable[[Feed, RawFile], bool], feed: Feed, file: Arrival) -> bool:
    """Whether something is found in a file; False where it cannot be read any more, as whoever reads it will find."""
    try:
        with RawFile(file.position) as raw:
            return what(feed, raw)
    except (UnreadableFileError, VanishedFileError):
        return False
