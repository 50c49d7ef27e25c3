from __future__ import annotations

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.ordering import RankedOrdering


class MaxBenefit(RankedOrdering):
    """Prefers the update that lowers weighted staleness most per second of work (Golab et al. 2011, section 3.1)."""

    name = "max-benefit"
    behind = "lower benefit"

    def rank(self, candidate: Candidate) -> float:
        return -candidate.priority * candidate.delta / candidate.cost

    def because(self, candidate: Candidate) -> str:
        waited = " that its oldest update has waited" if candidate.update_stream else ""
        return (
            f"it gains {candidate.benefit:.3g} seconds of weighted freshness per second of work "
            f"(priority {candidate.priority:g} x {candidate.delta:.1f}s{waited} / {candidate.cost:.2f}s)"
        )
