"""Update streams as declared: what supersedes what, and where single rows come from (Moga et al. 2009)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketSource:
    """JSON lines over TCP: from whoever connects to this address or, with `connect`, from whoever listens there."""

    host: str
    port: int
    connect: bool = False
    secret: str | None = field(default=None, repr=False)
    """What everybody who connects has to say first or, with `connect`, what is said first to who listens."""
    connections: int = 100
    """How many may be connected at once."""
    idle: float = 3_600.0
    """Seconds after which a connection is closed of which nothing is heard."""

    @property
    def is_open_to_others(self) -> bool:
        """Whether who can reach the machine can send, and need not know anything for it."""
        local = self.host in ("localhost", "::1") or self.host.startswith("127.")
        return not (self.connect or local or self.secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorSource:
    """Rows that a Python function yields, as mappings from column to value."""

    function: Callable[[], Iterable[Mapping[str, Any]]] = field(compare=False)
    fingerprint: str


StreamSource = SocketSource | GeneratorSource
