"""FIFO: in the order of arrival of the newest updates (Moga et al. 2009, section 5.2)."""

from __future__ import annotations

from typing import ClassVar

from freshtide.core.latest import KeyOrder
from freshtide.latest.orders.order import TAIL, Place


class Fifo:
    """A new value goes to the tail, and the old one leaves its place: a key that updates often may wait for long."""

    name: ClassVar[KeyOrder] = KeyOrder.FIFO
    oldest_first: ClassVar[bool] = False

    def place(self, resident: bool, gap: float, residents: int, waited: float) -> Place:  # noqa: ARG002 - all are alike
        return TAIL
