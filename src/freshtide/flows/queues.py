"""The queue before each input of an activity: bounded, so that nothing is lost and memory is kept."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from freshtide.core.errors import UsageError
from freshtide.flows.graph import Edge
from freshtide.flows.packs import Pack


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may wait (MaxMem of Karagiannis et al. 2013, section 3.1)."""

    packs: int = 100
    """In each queue."""
    memory: int | None = None
    """Bytes in all queues together; None for as much as there is."""

    def __post_init__(self) -> None:
        if self.packs < 1:
            raise UsageError(
                f"A queue of {self.packs} packs can never pass anything on.", way_out="Give it room for 1 at least."
            )
        if self.memory is not None and self.memory < 1:
            raise UsageError(
                f"A flow cannot run in {self.memory} bytes of memory.", way_out="Leave it out, or write it like 64MB."
            )


@dataclass(slots=True, kw_only=True, eq=False)
class WaitingPack:
    """A pack in one queue, or in those of several consumers: the last of them to be done with it releases it."""

    pack: Pack
    users: int = 1

    def done(self) -> None:
        self.users -= 1
        if self.users <= 0:
            self.pack.release()


@dataclass(slots=True, kw_only=True)
class PackQueue:
    """Packs on their way along an edge, oldest first."""

    edge: Edge
    limit: int
    waiting: deque[WaitingPack] = field(default_factory=deque)

    @property
    def rows(self) -> int:
        return sum(each.pack.rows for each in self.waiting)

    @property
    def size(self) -> int:
        return sum(each.pack.size for each in self.waiting)

    @property
    def is_full(self) -> bool:
        return len(self.waiting) >= self.limit
