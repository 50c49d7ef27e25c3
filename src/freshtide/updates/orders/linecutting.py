"""LINECUTTING: keys that update seldom go first (Moga et al. 2009, section 5.3)."""

from __future__ import annotations

from typing import ClassVar

from freshtide.core.updatestreams import KeyOrder
from freshtide.updates.orders.order import FRONT, STAY, TAIL, Place
from freshtide.updates.statistics import TupleCost


class Linecutting:
    """A key whose update rate is below 1 / (cost * residents) goes to the front, others are IN-PLACE.

    Between two updates of such a key all that wait could be served once, so it takes little from them. While the cost
    of a tuple is unknown no key can be told to be slow.
    """

    name: ClassVar[KeyOrder] = KeyOrder.LINECUTTING
    oldest_first: ClassVar[bool] = False

    def __init__(self, cost: TupleCost) -> None:
        self._cost = cost

    def place(self, resident: bool, gap: float, residents: int) -> Place:
        cost = self._cost.seconds
        if cost is not None and gap > cost * residents:
            return FRONT
        return STAY if resident else TAIL
