"""How far an estimate of a cost is believed that no update has confirmed for long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# With each time stamp that a table misses, its estimate keeps so much of its weight.
_TRUST: Final = 0.9
# What is left is this share of what others take: enough to be tried among equals, too little to overtake priorities.
_LEFT: Final = 0.5


@dataclass(slots=True)
class KnownCosts:
    """What updates of all tables are expected to take, one period at a time."""

    total: float = 0.0
    tables: int = 0

    def believed(self, cost: float, own: float, *, missed: int) -> float:
        """What an update is taken to cost, so many time stamps after the last one; `own` is its part of the total.

        An update in a bad moment makes its table look dear. On a machine that is never idle such a table would not be
        updated again, and so never be judged anew.
        """
        if self.tables < 2:
            return cost
        floor = _LEFT * (self.total - own) / (self.tables - 1)
        return cost if cost <= floor or missed <= 0 else floor + (cost - floor) * _TRUST**missed
