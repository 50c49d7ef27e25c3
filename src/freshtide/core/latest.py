"""Tables of the newest row per key, as declared: what supersedes what (Moga et al. 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

WINDOW_COLUMNS = ("window_start", "window_end")
"""What the query of a table with windows sees of the window that a row is in, beside the columns of the feed."""


class KeyOrder(StrEnum):
    """Which of the keys with a pending update is served first (sections 5.2 and 5.3)."""

    FIFO = "fifo"
    IN_PLACE = "in-place"
    LINECUTTING = "linecutting"


class WindowSemantics(StrEnum):
    """When a window of a key is committed to: once it is complete, or once it has started (section 6.2)."""

    LAZY = "lazy"
    EAGER = "eager"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWindows:
    """Windows of each key on source time, in seconds."""

    size: float
    slide: float
    semantics: WindowSemantics = WindowSemantics.LAZY


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestSemantics:
    """How the rows of a table supersede each other."""

    key: tuple[str, ...]
    order: KeyOrder = KeyOrder.LINECUTTING
    windows: KeyWindows | None = None
