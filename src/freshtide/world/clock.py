"""The only place that reads the clock."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """What time it is, and how time passes. The first can be set by anybody, forward and back; the second cannot."""

    def now(self) -> float:
        """Seconds since the epoch, UTC: what is written down, and what data and files are compared with."""
        ...

    def steady(self) -> float:
        """Seconds that nobody sets: for how long something took, and how long something has to wait."""
        ...

    def onward(self) -> float:
        """Seconds since the epoch that never go back: where the clock is set back, they go on at its pace.

        For moments to wait for that are told in the same scale as those of data, such as the scheduler's.
        """
        ...


class SystemClock:
    """The clock of this machine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ahead = float("-inf")

    def now(self) -> float:
        return time.time()

    def steady(self) -> float:
        return time.monotonic()

    def onward(self) -> float:
        # In this order: a pause between the two makes the distance too short, never too long for good.
        ahead = time.time() - time.monotonic()
        with self._lock:
            self._ahead = max(self._ahead, ahead)
            return time.monotonic() + self._ahead
