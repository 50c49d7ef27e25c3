from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from freshtide.flows.policies.minimum_cost import MinimumCost
from freshtide.flows.policies.policy import Standing

# A pack or two: each is a Spark job here, and to choose again costs nothing beside it. (The paper has 70 ms.)
_SLOT = 0.1


class MinimumMemory:
    """Prefers the activity that frees the most memory, for a slot of time (Karagiannis et al. 2013, section 4.3).

    `MemB = ((In - Out) / ExecTime) * Queue`. Where no activity frees any, the one with the longest queue. What lies
    on disk is in no queue: it is brought into memory only when nothing there is left to do.
    """

    name: ClassVar[str] = "minimum-memory"

    def __init__(self, slot: float = _SLOT) -> None:
        self.slot: float | None = slot
        self._largest = MinimumCost()

    def choose(self, standings: Sequence[Standing]) -> Standing:
        best = max(standings, key=lambda standing: (memory_benefit(standing), -standing.place))
        if memory_benefit(best) > 0.0:
            return best
        return self._largest.choose([each for each in standings if not each.from_disk] or standings)


def memory_benefit(standing: Standing) -> float:
    """How fast the activity takes rows out of memory, times the rows that wait for it; 0 before it has run."""
    if standing.seconds <= 0.0:
        return 0.0
    return (standing.taken - standing.given) / standing.seconds * standing.queued
