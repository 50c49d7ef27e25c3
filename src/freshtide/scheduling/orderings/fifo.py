from __future__ import annotations

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.ordering import RankedOrdering


class Fifo(RankedOrdering):
    """Prefers the update whose data has been waiting longest."""

    name = "fifo"
    behind = "came later"

    def rank(self, candidate: Candidate) -> float:
        return candidate.released_at

    def because(self, candidate: Candidate) -> str:  # noqa: ARG002 - the same words for all
        return "it has been waiting longest"
