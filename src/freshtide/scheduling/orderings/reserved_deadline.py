from __future__ import annotations

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.ordering import RankedOrdering


class ReservedDeadline(RankedOrdering):
    """Prefers the update whose reservation is due soonest: the global EDF of Leontyev et al. 2010, section III."""

    name = "reserved-deadline"
    behind = "later deadline"

    def rank(self, candidate: Candidate) -> float:
        return candidate.due

    def because(self, candidate: Candidate) -> str:
        return f"its reservation is due soonest ({candidate.due - candidate.released_at:.3g}s after its release)"
