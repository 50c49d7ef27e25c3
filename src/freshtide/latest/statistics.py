"""What the storage manager measures to decide by: how often keys update, and what a tuple costs (section 4.2)."""

from __future__ import annotations

from array import array


class KeyGaps:
    """The mean time between two updates of each key: the reciprocal of its update rate.

    A mean over all gaps while there are few, and one that forgets after that, so that a key whose rate changes is
    followed. The first gap of a key is counted from when the statistics began: a key that has long been silent is slow.
    """

    def __init__(self, *, memory: int = 32) -> None:
        self._memory = memory
        self._begun: float | None = None
        self._latest = array("d")
        self._means = array("d")
        self._counts = array("i")

    def observe(self, cell: int, now: float) -> float:
        """A key has updated. Its mean gap with this one."""
        counts = self._counts
        if cell >= len(counts):
            self._reach(cell, now)
        count = counts[cell]
        if count < self._memory:
            count += 1
            counts[cell] = count
        mean = self._means[cell]
        mean += (now - self._latest[cell] - mean) / count
        self._means[cell] = mean
        self._latest[cell] = now
        return mean

    def latest(self, cell: int) -> float:
        """When a key has updated last."""
        return self._latest[cell]

    def forget(self, cell: int) -> None:
        """The next key of this cell is another one."""
        self._counts[cell] = 0
        self._means[cell] = 0.0
        self._latest[cell] = self._begun or 0.0

    def mean(self, cell: int) -> float | None:
        """The mean gap of a key as of its last update; None before its first one."""
        return self._means[cell] if cell < len(self._counts) and self._counts[cell] else None

    def _reach(self, cell: int, now: float) -> None:
        if self._begun is None:
            self._begun = now
        # Ahead of need, as keys come one by one.
        more = cell + 1 - len(self._counts) + cell // 8
        self._counts.extend(array("i", [0]) * more)
        self._means.extend(array("d", [0.0]) * more)
        self._latest.extend(array("d", [self._begun]) * more)


class TupleCost:
    """Seconds that processing a tuple takes, as measured lately, or as given until it is."""

    def __init__(self, given: float | None = None, *, memory: float = 0.9) -> None:
        self.seconds = given
        """Per tuple; None while nothing is known."""
        self._memory = memory
        self._total = 0.0
        self._tuples = 0.0

    def observe(self, tuples: int, seconds: float) -> None:
        """So many tuples were processed together in so many seconds. Older observations count less."""
        if tuples:
            self._tuples = self._tuples * self._memory + tuples
            self._total = self._total * self._memory + seconds
            self.seconds = self._total / self._tuples
