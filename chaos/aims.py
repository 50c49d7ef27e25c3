"""Where runs are killed: at every named point equally often, and at random moments in between."""

from __future__ import annotations

import random
from dataclasses import dataclass

_OFTEN = {
    "recorded": 12,
    "booking": 12,
    "spark-write": 4,
    "staged": 4,
    "rejects-committed": 6,
    "log-entry": 16,
    "checkpoint": 1,
    "compaction": 2,
    "vacuum": 6,
    "recovery": 20,
    "flow-journal": 2,
    "flow-committed": 5,
    "flow-landed": 2,
}
"""By point: how often a run comes to it in its first seconds, at least."""
POINTS = tuple(_OFTEN)
_RANDOM = "random"
_RANDOM_PER_ROUND = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """A point, and the how manieth time that a run comes to it."""

    point: str
    times: int

    @property
    def is_random(self) -> bool:
        """Whether a run is to die at any moment."""
        return self.point == _RANDOM


class Aims:
    """Deals all points and some random moments in a random order, then all of them again."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._dealt: list[str] = []

    def next(self) -> Aim:
        if not self._dealt:
            self._dealt = [*POINTS, *[_RANDOM] * _RANDOM_PER_ROUND]
            self._chance.shuffle(self._dealt)
        point = self._dealt.pop()
        return Aim(point=point, times=self._chance.randint(1, _OFTEN.get(point, 1)))
