"""What arrived in a feed, as the catalog remembers it: files, so far."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# What gzip makes of text, roughly.
_GZIP_RATIO = 6


class ArrivalState(StrEnum):
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


LOADABLE = (ArrivalState.READY, ArrivalState.AWAY, ArrivalState.PUNCTUATION)
"""What tables are to load, or have loaded."""
DATA = (ArrivalState.READY, ArrivalState.AWAY)
"""The part of it that has rows."""


CHANGED_BEFORE_LOADING = (
    "It was changed after it had settled, before it was loaded. `freshtide feeds accept` takes it as it is now."
)
"""Why a file is put aside whose registered content was in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A part of a feed that came at once. `id` is its place in the order of arrival, 0 before it is registered."""

    feed: str
    position: str
    """Where it is in the source of its feed: the absolute path of a file."""
    digest: str
    """The SHA-256 of its content."""
    size: int
    modified_ns: int
    arrived_at: float
    state: ArrivalState
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
    def waits_for_its_content(self) -> bool:
        """Whether nothing is wrong with it but that other content lies in its place."""
        return self.state is ArrivalState.QUARANTINED and self.reason == CHANGED_BEFORE_LOADING

    @property
    def weight(self) -> int:
        """Bytes of text, roughly, where it is not known what it unpacks to."""
        if self.unpacked is not None:
            return self.unpacked
        return max(0, self.size) * (_GZIP_RATIO if self.position.endswith(".gz") else 1)
