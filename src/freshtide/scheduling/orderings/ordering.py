"""What an ordering has to offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.ready import RankedQueue, ReadyQueue

Rank = float | tuple[float, float]


class Ordering(ABC):
    """Says which of the waiting candidates is best."""

    name: ClassVar[str]
    behind: ClassVar[str]
    """In words for the user: what keeps a candidate behind a better one."""
    looks_ahead: ClassVar[bool] = False
    ages: ClassVar[bool] = False
    """Whether a candidate ranks the higher the longer it waits: ranks are then renewed from time to time."""

    @abstractmethod
    def because(self, candidate: Candidate) -> str:
        """In words for the user: what puts the candidate where it is."""

    @abstractmethod
    def queue(self) -> ReadyQueue:
        """An empty queue in this order."""

    def reconsider(self, best: Candidate, others: Sequence[Candidate], upcoming: Sequence[Candidate]) -> Candidate:  # noqa: ARG002
        """The candidate to start, given that `upcoming` ones are expected: the best, unless an ordering looks ahead."""
        return best


class RankedOrdering(Ordering):
    """Ranks candidates; the smallest rank goes first, between equals the table declared first.

    A rank depends on the candidate alone, not on the moment: it stays valid while time passes, and candidates can be
    kept in a heap. (Update streams, which grow staler while they wait, are few: they are ranked anew each time. Where
    all do, by an ordering that ages, each is when it has grown staler by some share.)
    """

    @abstractmethod
    def rank(self, candidate: Candidate) -> Rank: ...

    def queue(self) -> ReadyQueue:
        return RankedQueue(self.rank)
