"""Who may write: asked directly before each commit, and named in it.

Only one process writes the tables of a storage at a time. Which one, a lease says, and each grant of it has a number,
its epoch, that is higher than those before. The storage does not know how a lease is kept: it asks, and it writes the
epoch into what it commits, so that a process that has slept through the loss of its lease is told apart from its
successor.
"""

from __future__ import annotations

from typing import Protocol


class Authority(Protocol):
    """The right to write."""

    @property
    def epoch(self) -> int:
        """The number of the grant; a later grant has a higher one."""

    def require(self) -> None:
        """Return if this process may write at this moment, else raise LeaseLostError."""


class Unrestricted:
    """The right to write where nobody else can: in a test, in an experiment, and where tables are only looked at."""

    epoch = 0

    def require(self) -> None:
        """Always granted."""
