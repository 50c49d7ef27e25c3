from __future__ import annotations

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.ordering import RankedOrdering


class ShortestPeriod(RankedOrdering):
    """Prefers the shortest period, then the most freshness per second of work (Leontyev et al. 2010, section VII)."""

    name = "shortest-period"
    behind = "longer period"

    def rank(self, candidate: Candidate) -> tuple[float, float]:
        return (candidate.period, -candidate.delta / candidate.cost)

    def because(self, candidate: Candidate) -> str:
        return (
            f"its period is the shortest ({candidate.period:g}s) and, among those, it gains most: "
            f"{candidate.delta / candidate.cost:.3g} seconds of freshness per second of work"
        )
