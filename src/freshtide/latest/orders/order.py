"""What a key order decides."""

from __future__ import annotations

from enum import Enum, auto
from typing import ClassVar, Protocol

from freshtide.core.latest import KeyOrder


class Place(Enum):
    """Where a key goes in the queue of keys when it updates."""

    TAIL = auto()
    STAY = auto()
    FRONT = auto()


# Looked up at each arrival: as names of a module they are found much sooner than in the class.
TAIL, STAY, FRONT = Place.TAIL, Place.STAY, Place.FRONT


class Order(Protocol):
    """Decides at each update of a key which place it gets among the keys that wait."""

    name: ClassVar[KeyOrder]
    oldest_first: ClassVar[bool]
    """Whether keys are served in the order in which their oldest pending updates arrived."""

    def place(self, resident: bool, gap: float, residents: int, waited: float) -> Place:
        """`resident`: the key waits already. `gap`: the mean time between its updates.

        `residents`: how many keys wait. `waited`: for how long the one that has waited longest has done so.
        """
        ...
