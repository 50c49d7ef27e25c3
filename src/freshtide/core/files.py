"""Files that arrived in a feed, as the catalog remembers them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# What gzip makes of text, roughly.
_GZIP_RATIO = 6


class FileState(StrEnum):
    READY = "ready"
    """Complete and readable: to be loaded, or loaded, by every table of the feed."""
    PUNCTUATION = "punctuation"
    """Holds no rows but a promise: nothing older than its timestamp will arrive after it."""
    DUPLICATE = "duplicate"
    """Its content has arrived before: nothing to do."""
    REFUSED = "refused"
    """A known name with other content: left alone and reported."""
    QUARANTINED = "quarantined"
    """It cannot be read: kept aside with the reason until it is retried."""
    AWAY = "away"
    """Registered to be loaded, and not there when it was its turn: its tables wait for it."""
    SKIPPED = "skipped"
    """Left out because the user said so."""


LOADABLE = (FileState.READY, FileState.AWAY, FileState.PUNCTUATION)
"""What tables are to load, or have loaded."""
DATA = (FileState.READY, FileState.AWAY)
"""The part of it that has rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFile:
    """One file of a feed. `id` is its place in the order of arrival, 0 before it is registered."""

    feed: str
    path: str
    """Absolute path."""
    sha256: str
    size: int
    modified_ns: int
    arrived_at: float
    state: FileState
    id: int = 0
    timestamp: float | None = None
    """None where the content names no time at all (no rows, or none with a readable time)."""
    rows: int | None = None
    """Records in the file, counted on arrival; None where it could not be counted."""
    columns: tuple[str, ...] | None = None
    """Column names the file itself carries, in its order; None where it carries none."""
    reason: str | None = None
    unpacked: int | None = None
    """Bytes of its rows once unpacked, roughly, as found on arrival."""

    @property
    def weight(self) -> int:
        """Bytes of text, roughly, where it is not known what it unpacks to."""
        if self.unpacked is not None:
            return self.unpacked
        return max(0, self.size) * (_GZIP_RATIO if self.path.endswith(".gz") else 1)
