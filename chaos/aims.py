"""Where runs are killed: at every named point equally often, and at random moments in between."""

from __future__ import annotations

import random
from dataclasses import dataclass

_OFTEN = {
    "recorded": 8,
    "booking": 8,
    "spark-write": 2,
    "staged": 2,
    "rejects-committed": 4,
    "log-entry": 10,
    "checkpoint": 1,
    "compaction": 1,
    "vacuum": 6,
    "recovery": 20,
    "flow-journal": 1,
    "flow-committed": 3,
    "flow-landed": 1,
}
"""By point: how often a run comes to it in its first seconds, at least."""
POINTS = tuple(_OFTEN)
_RHYTHMS = {"compaction": 16, "vacuum": 16, "checkpoint": 28}
"""By point: after how many commits of a table a run may come to it."""
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

    def next(self, commits: int) -> Aim:
        """The next one that makes sense, by how many commits the busiest table has had since its last checkpoint."""
        if not any(_is_ripe(point, commits) for point in self._dealt):
            round_of = [*POINTS, *[_RANDOM] * _RANDOM_PER_ROUND]
            self._chance.shuffle(round_of)
            self._dealt += round_of
        point = next(point for point in self._dealt if _is_ripe(point, commits))
        self._dealt.remove(point)
        return Aim(point=point, times=self._chance.randint(1, _OFTEN.get(point, 1)))


def _is_ripe(point: str, commits: int) -> bool:
    return commits >= _RHYTHMS.get(point, 0)
