from __future__ import annotations

from collections.abc import Callable

from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.orderings.ordering import Ordering
from freshtide.scheduling.ready import DrawnQueue, ReadyQueue


class RandomChoice(Ordering):
    """Prefers nobody: each decision draws among all that wait (Golab et al. 2011, section 4.3)."""

    name = "random"
    behind = "not drawn"

    def __init__(self, uniform: Callable[[], float]) -> None:
        self._uniform = uniform

    def because(self, candidate: Candidate) -> str:  # noqa: ARG002 - the same words for all
        return "the next update is drawn at random"

    def queue(self) -> ReadyQueue:
        return DrawnQueue(self._uniform)
