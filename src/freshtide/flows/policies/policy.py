"""What a policy is told, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How an activity stands that could run: it has something to do, and its consumers have room.

    An activity that gives what it had to wait for stands like a source: it brings rows from disk into memory.
    """

    place: int
    """In the declaration of the flow."""
    queued: int
    """Rows in its input queues; of a source, rows that have not been read yet."""
    taken: int
    """Rows that it has processed so far."""
    given: int
    """Rows that it has put into the queues of its consumers; what nobody takes is gone from memory."""
    seconds: float
    """How long it has worked."""
    from_disk: bool = False
    """Whether what is queued is not in memory yet: it is a source, or gives what it had to wait for."""


class FlowPolicy(Protocol):
    """Chooses among the activities that could run."""

    name: ClassVar[str]

    @property
    def slot(self) -> float | None:
        """How long an activity runs at most before the next choice; None until its input is exhausted."""
        ...

    def choose(self, standings: Sequence[Standing]) -> Standing:
        """One of them, which are in the order of their declaration and at least one."""
        ...
