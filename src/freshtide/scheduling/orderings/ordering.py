"""What an ordering has to offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.ready import RankedQueue, ReadyQueue

Rank = float | tuple[float, float]


class Ordering:
    """Ranks candidates; the smallest rank goes first, between equals the table declared first.

    A rank depends on the candidate alone, not on the moment: it stays valid while time passes, and candidates can be
    kept in a heap.
    """

    name: ClassVar[str]
    behind: ClassVar[str]
    """In words for the user: what keeps a candidate behind a better one."""
    looks_ahead: ClassVar[bool] = False

    def rank(self, candidate: Candidate) -> Rank:
        raise NotImplementedError

    def because(self, candidate: Candidate) -> str:
        """In words for the user: what puts the candidate where it is."""
        raise NotImplementedError

    def queue(self) -> ReadyQueue:
        """An empty queue in this order."""
        return RankedQueue(self.rank)

    def reconsider(self, best: Candidate, others: Sequence[Candidate], upcoming: Sequence[Candidate]) -> Candidate:
        """The candidate to start, given that `upcoming` ones are expected; called if the ordering looks ahead."""
        raise NotImplementedError
