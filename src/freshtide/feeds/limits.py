"""How much a file may hold: a small one can unpack to more than a machine can take."""

from __future__ import annotations

import os
from dataclasses import dataclass

from freshtide.core.feeds import Feed
from freshtide.feeds.errors import UnreadableFileError

# Text packs to a tenth, logs to a fiftieth. What packs to less than this says hardly anything, however long.
_LARGEST_RATIO = 500
# Up to this much nobody is hurt, whatever it was packed to.
_HARMLESS = 64_000_000
# Without a limit of its own a file must not hold more than this share of the memory of the machine.
_SHARE_OF_MEMORY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a feed takes of one file, unpacked; None where it takes anything."""

    feed: str
    size: int | None
    rows: int | None

    def check(self, *, size: int, rows: int | None = None) -> None:
        """Raise what is wrong with a file that holds so many bytes, as far as it has been read."""
        if self.rows is not None and rows is not None and rows > self.rows:
            raise UnreadableFileError(
                f"The file holds {rows:,} rows, and feed '{self.feed}' takes {self.rows:,} at most.",
                way_out="If that is meant, raise its `max_rows` and run `freshtide feeds retry`.",
            )
        if self.size is not None and size > self.size:
            many = "" if rows is None else f" in {rows:,} rows"
            raise UnreadableFileError(
                f"The file unpacks to {size:,} bytes or more{many}, and feed '{self.feed}' expects {self.size:,} at "
                "most of a file of its size.",
                way_out="If that is meant, set its `max_size`, like `max_size: 20GB`, and run `freshtide feeds retry`.",
            )


def limits_of(feed: Feed, *, packed: int | None) -> Limits:
    """What a feed declares, or else what can be expected of a file that is packed to so many bytes on this machine."""
    size = feed.folder.max_size
    if size is None and packed is not None:
        size = min(int(_memory() * _SHARE_OF_MEMORY), max(_HARMLESS, packed * _LARGEST_RATIO))
    return Limits(feed=feed.name, size=size, rows=feed.folder.max_rows)


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
