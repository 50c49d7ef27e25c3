from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from freshtide.flows.policies.policy import Standing


class MinimumCost:
    """Prefers the activity with the most rows waiting: it switches rarely (Karagiannis et al. 2013, section 4.2)."""

    name: ClassVar[str] = "minimum-cost"
    slot = None

    def choose(self, standings: Sequence[Standing]) -> Standing:
        return max(standings, key=lambda standing: (standing.queued, -standing.place))
