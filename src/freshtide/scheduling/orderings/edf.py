from __future__ import annotations

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.ordering import RankedOrdering


class EarliestDeadlineFirst(RankedOrdering):
    """Prefers the update whose next data is due soonest, whatever its priority (Golab et al. 2011, section 3.1)."""

    name = "edf"
    behind = "later deadline"

    def rank(self, candidate: Candidate) -> float:
        return candidate.released_at + candidate.period

    def because(self, candidate: Candidate) -> str:
        return f"its next data is due soonest (a period of {candidate.period:g}s after it was released)"
