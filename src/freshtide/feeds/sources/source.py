"""What a source of a feed has to offer, and what single rows are handed to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from freshtide.core.errors import Problem
from freshtide.feeds.sources.rows import RejectedRow, StreamRow

PositionT_contra = TypeVar("PositionT_contra", contravariant=True)


class Source(Protocol[PositionT_contra]):
    """Where what a feed brings comes from, during a run.

    All that it hands over has a position, and until that is acknowledged it is known to be nowhere else.
    """

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps it from bringing anything at present."""
        ...

    @property
    def quiet(self) -> bool:
        """Whether nothing is on its way."""
        ...

    def stop(self) -> None:
        """Bring nothing more."""
        ...

    def acknowledge(self, position: PositionT_contra) -> None:
        """What has this position is kept, and what came before it: it need not be handed over again."""
        ...


class RowReceiver(Protocol):
    """Takes rows on the thread of their stream; while it does, the stream waits."""

    def take(self, rows: Sequence[StreamRow]) -> None:
        """Rows that fit the feed's schema, in the order in which they came."""
        ...

    def reject(self, rejected: Sequence[RejectedRow]) -> None:
        """Rows that do not, to be kept aside."""
        ...


class Stream(Source[int], Protocol):
    """A source of single rows with a thread of its own. The position of a row is how many have come up to it."""

    @property
    def position(self) -> int:
        """How many rows have been handed over, rejected ones included."""
        ...

    @property
    def unacknowledged(self) -> int:
        """How many of them are not known to be kept."""
        ...

    @property
    def fault(self) -> BaseException | None:
        """What the receiver raised; the stream has ended with it."""
        ...

    def start(self) -> None: ...


class RowSource:
    """What all sources of single rows do alike: they hand rows over, and count them."""

    def __init__(self, receiver: RowReceiver) -> None:
        self._receiver = receiver
        self._acknowledged = 0
        self.position = 0
        self.problem: Problem | None = None
        self.fault: BaseException | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        return () if self.problem is None else (self.problem,)

    @property
    def unacknowledged(self) -> int:
        return self.position - self._acknowledged

    def acknowledge(self, position: int) -> None:
        self._acknowledged = max(self._acknowledged, position)

    def _deliver(self, rows: Sequence[StreamRow], rejected: Sequence[RejectedRow]) -> None:
        # Counted first: where taking them fails, some may have been taken.
        self.position += len(rows) + len(rejected)
        if rows:
            self._receiver.take(rows)
        if rejected:
            self._receiver.reject(rejected)


def in_words(problems: Mapping[str, Sequence[Problem]]) -> dict[str, tuple[str, ...]]:
    """Problems by feed as they are told; feeds without one are left out."""
    return {feed: tuple(problem.message for problem in found) for feed, found in problems.items() if found}
