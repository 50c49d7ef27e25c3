"""LINECUTTING: keys that update seldom go first (Moga et al. 2009, section 5.3)."""

from __future__ import annotations

from typing import ClassVar

from freshtide.core.latest import KeyOrder
from freshtide.latest.orders.order import FRONT, STAY, TAIL, Place
from freshtide.latest.statistics import TupleCost


class Linecutting:
    """A key whose update rate is below 1 / (cost * residents) goes to the front, others are IN-PLACE.

    Between two updates of such a key all that wait could be served once. While the cost of a tuple is unknown no key
    can be told to be slow.

    As printed, the rule looks at one key at a time. Many slow keys can take all the time there is: they never wait, so
    residents stay few, so they go on cutting, and the others are not served at all. So by default the key's gap must
    also be longer than the longest wait in the queue, and both by a margin. At the front a key is served 1 / gap times
    a second instead of 1 / (gap + wait). Where gap and wait are equal the others lose what it gains, and both are only
    known roughly.
    """

    name: ClassVar[KeyOrder] = KeyOrder.LINECUTTING
    oldest_first: ClassVar[bool] = False

    def __init__(self, cost: TupleCost, *, margin: float = 3.0, as_printed: bool = False) -> None:
        self._cost = cost
        self._margin = 1.0 if as_printed else margin
        self._as_printed = as_printed

    def place(self, resident: bool, gap: float, residents: int, waited: float) -> Place:
        cost = self._cost.seconds
        if (
            cost is not None
            and gap > self._margin * cost * residents
            and (self._as_printed or gap > self._margin * waited)
        ):
            return FRONT
        return STAY if resident else TAIL
