from __future__ import annotations

from collections.abc import Sequence

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.max_benefit import MaxBenefit

# The sets that are compared are drawn from so many of the best: their number doubles with each one more.
_MOST_COMPARED = 12


class Lookahead(MaxBenefit):
    """Prefers Max Benefit's choice, unless it would keep a better update waiting that is expected before it ends.

    Then other updates that fill the time up to that release, and end before the first choice would have, may go first:
    the set whose benefit together with the expected update is largest per second of work (Golab et al. 2011,
    section 3.1). No track is ever left idle for the sake of an expectation.
    """

    name = "lookahead"
    looks_ahead = True

    def reconsider(self, best: Candidate, others: Sequence[Candidate], upcoming: Sequence[Candidate]) -> Candidate:
        """Of `upcoming`, `released_at` is the number of seconds until the release is expected."""
        awaited = [later for later in upcoming if later.released_at <= best.cost and later.benefit > best.benefit]
        if not awaited:
            return best
        chosen, highest = best, best.benefit
        fitting = sorted((other for other in others if other.cost < best.cost), key=lambda c: (-c.benefit, c.place))
        for leader, gain, work in _sets(fitting[:_MOST_COMPARED], best.cost):
            for later in awaited:
                if later.released_at <= work:
                    together = (gain + later.priority * later.delta) / (work + later.cost)
                    if together > highest:
                        chosen, highest = leader, together
        return chosen


def _sets(candidates: Sequence[Candidate], limit: float) -> list[tuple[Candidate, float, float]]:
    """All sets with less work than the limit, as (their best member, weighted freshness gained, work).

    The candidates come best first, so the best member is the one that a set begins with.
    """
    found: list[tuple[Candidate, float, float]] = []
    for candidate in candidates:
        gain = candidate.priority * candidate.delta
        grown = [
            (leader, sum_gain + gain, sum_work + candidate.cost)
            for leader, sum_gain, sum_work in found
            if sum_work + candidate.cost < limit
        ]
        found += grown
        found.append((candidate, gain, candidate.cost))
    return found
