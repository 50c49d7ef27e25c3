"""What a source of single rows has to offer, and what it hands its rows to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from freshtide.core.errors import Problem
from freshtide.feeds.streams.rows import RejectedRow, StreamRow


class RowReceiver(Protocol):
    """Takes rows on the thread of their stream; while it does, the stream waits."""

    def take(self, rows: Sequence[StreamRow]) -> None:
        """Rows that fit the feed's schema, in the order in which they came."""
        ...

    def reject(self, rejected: Sequence[RejectedRow]) -> None:
        """Rows that do not, to be kept aside."""
        ...


class Stream(Protocol):
    """A source of single rows with a thread of its own."""

    @property
    def problem(self) -> Problem | None:
        """What keeps rows from coming at present."""
        ...

    @property
    def quiet(self) -> bool:
        """Whether no row is on its way: nobody has sent anything lately, or everything has been yielded."""
        ...

    @property
    def fault(self) -> BaseException | None:
        """What the receiver raised; the stream has ended with it."""
        ...

    def start(self) -> None: ...

    def stop(self) -> None:
        """End the stream; when this returns the receiver is left alone."""
        ...
