"""How far results are behind the updates of their keys, integrated exactly (Moga et al. 2009, sections 3.3 and 5.1).

This is not the staleness of a warehouse's tables (`core/staleness.py`): it is zero while nothing is pending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from statistics import fmean


class LatestStaleness:
    """Application staleness and queue staleness of each key.

    Both are zero while nothing of a key is pending, and otherwise count from the arrival of its oldest pending update.
    An update is pending until a result that reflects it or a newer one is delivered (application staleness), or until
    it or a newer one is dequeued for processing (queue staleness). Moments do not go backwards.
    """

    def __init__(self, begun: float) -> None:
        self._begun = begun
        self._arrivals = 0
        self._application = _PendingAges()
        self._queue = _PendingAges()

    def arrived(self, key: Hashable, now: float) -> int:
        """An update has come in, whatever the queue makes of it. Its number, to say later how far a result goes."""
        number = self._arrivals
        self._arrivals += 1
        self._application.arrived(key, number, now)
        self._queue.arrived(key, number, now)
        return number

    def dequeued(self, key: Hashable, upto: int, now: float) -> None:
        """The update with this number left the queue to be processed."""
        self._queue.settled(key, upto, now)

    def delivered(self, key: Hashable, upto: int, now: float) -> None:
        """A result that reflects the updates of the key up to this number is there."""
        self._application.settled(key, upto, now)

    def application(self, key: Hashable, now: float) -> float:
        """s(t) of section 3.3."""
        return self._application.age(key, now)

    def queue(self, key: Hashable, now: float) -> float:
        """The same without the time of processing (section 5.1)."""
        return self._queue.age(key, now)

    def mean_application(self, now: float) -> float:
        """Averaged over the time since the beginning, then over the keys that have updated."""
        return self._application.mean(self._begun, now)

    def mean_queue(self, now: float) -> float:
        """Averaged in the same way."""
        return self._queue.mean(self._begun, now)

    def application_by_key(self, now: float) -> dict[Hashable, float]:
        """The average over time of each key."""
        return self._application.by_key(self._begun, now)

    def queue_by_key(self, now: float) -> dict[Hashable, float]:
        """The average over time of each key."""
        return self._queue.by_key(self._begun, now)


@dataclass(slots=True)
class _KeyAge:
    pending: deque[tuple[int, float]] = field(default_factory=deque)
    """Numbers and arrivals, oldest first."""
    since: float = 0.0
    """From when on the age has been that of the oldest one."""
    area: float = 0.0
    """Up to then."""

    def area_until(self, now: float) -> float:
        if not self.pending:
            return self.area
        arrival = self.pending[0][1]
        # The age is a straight line from one moment to the other.
        return self.area + (now - self.since) * ((self.since - arrival) + (now - arrival)) / 2


class _PendingAges:
    """The age of the oldest pending update of each key, by one definition of pending."""

    def __init__(self) -> None:
        self._keys: dict[Hashable, _KeyAge] = {}

    def arrived(self, key: Hashable, number: int, now: float) -> None:
        age = self._keys.setdefault(key, _KeyAge())
        if not age.pending:
            age.since = now
        age.pending.append((number, now))

    def settled(self, key: Hashable, upto: int, now: float) -> None:
        age = self._keys[key]
        age.area = age.area_until(now)
        age.since = now
        while age.pending and age.pending[0][0] <= upto:
            age.pending.popleft()

    def age(self, key: Hashable, now: float) -> float:
        age = self._keys.get(key)
        return now - age.pending[0][1] if age is not None and age.pending else 0.0

    def mean(self, begun: float, now: float) -> float:
        return fmean(self.by_key(begun, now).values()) if self._keys else 0.0

    def by_key(self, begun: float, now: float) -> dict[Hashable, float]:
        length = now - begun
        return {key: age.area_until(now) / length if length > 0.0 else 0.0 for key, age in self._keys.items()}
