from __future__ import annotations

from freshtide.core.durations import format_duration
from freshtide.core.objective import avoided
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.ordering import RankedOrdering


class TargetLag(RankedOrdering):
    """Prefers the update that avoids most loss per second of work: staleness, the more the nearer to a target lag.

    What is lost is the objective of `core/objective.py`. An update whose table gains nothing by it, because it is to be
    computed anew, counts as if it gained what it has waited: nobody waits for ever (`guarantees/turns.py`).
    """

    name = "target-lag"
    behind = "less to lose"
    ages = True

    def rank(self, candidate: Candidate) -> float:
        return -candidate.priority * avoided(candidate.credit, candidate.gain, candidate.target) / candidate.work

    def because(self, candidate: Candidate) -> str:
        target, age = candidate.target, candidate.age
        return (
            f"it has most to lose per second of work: it is {format_duration(age)} stale, "
            f"{age / target:.0%} of its target lag of {format_duration(target)} "
            f"(priority {candidate.priority:g}, {candidate.cost:.2f}s of work)"
        )
