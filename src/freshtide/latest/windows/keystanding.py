"""How a key of a window queue stands, as it can be put down and taken up again."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from freshtide.latest.tuples import StreamTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStanding:
    """The window buffer of a key: its tuples, the oldest first, and what has been decided about its windows."""

    key: Hashable
    tuples: tuple[StreamTuple, ...] = ()
    reached: int | None = None
    """The youngest window that has started (EAGER) or is complete (LAZY)."""
    waiting: int | None = None
    committed: int | None = None
    kept_from: float | None = None
    """From this time on tuples are for windows that may be committed to later."""
    newest_time: float | None = None
    newest_within: float | None = None
