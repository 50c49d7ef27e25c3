from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from freshtide.flows.policies.policy import Standing


class RoundRobin:
    """Takes the activities in turn, in the order of their declaration (Karagiannis et al. 2013, section 4.1)."""

    name: ClassVar[str] = "round-robin"
    slot = None

    def __init__(self) -> None:
        self._last = -1

    def choose(self, standings: Sequence[Standing]) -> Standing:
        chosen = next((standing for standing in standings if standing.place > self._last), standings[0])
        self._last = chosen.place
        return chosen
