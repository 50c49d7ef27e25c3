"""IN-PLACE: in the order of arrival of the oldest pending updates (Moga et al. 2009, section 5.2)."""

from __future__ import annotations

from typing import ClassVar

from freshtide.core.latest import KeyOrder
from freshtide.latest.orders.order import STAY, TAIL, Place


class InPlace:
    """A new value takes the place of the old one: best where all keys update equally often."""

    name: ClassVar[KeyOrder] = KeyOrder.IN_PLACE
    oldest_first: ClassVar[bool] = True

    def place(self, resident: bool, gap: float, residents: int, waited: float) -> Place:  # noqa: ARG002 - all are alike
        return STAY if resident else TAIL
