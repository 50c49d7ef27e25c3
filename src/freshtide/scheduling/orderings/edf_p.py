from __future__ import annotations

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.ordering import RankedOrdering


class PrioritizedEdf(RankedOrdering):
    """Prefers the highest priority, and among equals the earliest deadline (Golab et al. 2011, section 3.1)."""

    name = "edf-p"
    behind = "lower priority or later deadline"

    def rank(self, candidate: Candidate) -> tuple[float, float]:
        return (-candidate.priority, candidate.released_at + candidate.period)

    def because(self, candidate: Candidate) -> str:
        return f"it has the highest priority ({candidate.priority:g}) and, among those, the earliest deadline"
