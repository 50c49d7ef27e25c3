"""The states that a key goes through from an enqueue to a result (Moga et al. 2009, section 6.2 and figure 10)."""

from __future__ import annotations

from array import array
from enum import StrEnum

from freshtide.latest.keycells import KeyList
from freshtide.latest.orders import Place


class KeyState(StrEnum):
    """Where a key is. ENQ and DONE of the paper are the ways in and out; a key may wait and be processed at once."""

    WAIT = "wait"
    READY = "ready"
    IDLE = "idle"


class KeyStates:
    """The lists of the key scheduler, by cell: `wq` of waiting keys, `upq` of keys under processing, `il` of idle ones.

    The aggregate has one window of a key open at a time. So a key that waits while it is idle cannot be committed to.
    If it gets to the head of the queue it steps aside, and goes back to its place once its window is done.
    """

    def __init__(self) -> None:
        self._queue = KeyList()
        self._aside: set[int] = set()
        self._places = array("q")
        """Of each key in the queue or aside: it comes after all keys with lower numbers."""
        self._placed = 0
        self._by_age = KeyList()
        self._since = array("d")
        self._processing = KeyList()
        self._idle: set[int] = set()
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many keys wait."""
        return self._waiting

    @property
    def processing(self) -> int | None:
        """The key under processing whose turn it is."""
        return self._processing.first

    @property
    def oldest_since(self) -> float | None:
        """Since when the key waits that has waited longest."""
        cell = self._by_age.first
        return None if cell is None else self._since[cell]

    def of(self, cell: int) -> frozenset[KeyState]:
        """All states that a key is in; none if it has nothing to do."""
        found = ((KeyState.WAIT, cell in self._by_age), (KeyState.READY, cell in self._processing))
        return frozenset(
            [*(state for state, there in found if there), *([KeyState.IDLE] if cell in self._idle else [])]
        )

    def waits(self, cell: int) -> bool:
        return cell in self._by_age

    def waiting_since(self, cell: int) -> float | None:
        """When the first update came that the key waits with."""
        return self._since[cell] if cell in self._by_age else None

    def updated(self, cell: int, place: Place, now: float) -> None:
        """A key has a newer update: it waits, in this place of the queue."""
        if cell not in self._by_age:
            self._by_age.append(cell)
            if cell >= len(self._since):
                more = cell + 1 - len(self._since)
                self._since.extend(array("d", [0.0]) * more)
                self._places.extend(array("q", [0]) * more)
            self._since[cell] = now
            self._waiting += 1
        elif place is Place.STAY:
            return
        elif cell in self._aside:
            self._aside.remove(cell)
        else:
            self._queue.remove(cell)
        self._placed += 1
        if place is Place.FRONT:
            self._places[cell] = -self._placed
            self._queue.prepend(cell)
        else:
            self._places[cell] = self._placed
            self._queue.append(cell)

    def next_waiting(self) -> int | None:
        """The first waiting key that can be committed to."""
        while (cell := self._queue.first) is not None and (cell in self._idle or cell in self._processing):
            self._queue.remove(cell)
            self._aside.add(cell)
        return cell

    def committed(self, cell: int) -> None:
        """WAIT to READY: a key at the head of the queue is committed to."""
        self._queue.remove(cell)
        self._by_age.remove(cell)
        self._waiting -= 1
        self._processing.append(cell)

    def ran_dry(self, cell: int) -> None:
        """READY to IDLE: nothing of its window is available, and others shall not wait for it."""
        self._processing.remove(cell)
        self._idle.add(cell)

    def promoted(self, cell: int) -> None:
        """IDLE to READY, at the tail: more of its window is available (doPromote)."""
        if cell in self._idle:
            self._idle.remove(cell)
            self._processing.append(cell)

    def done(self, cell: int) -> None:
        """READY to DONE: the result of its window can be given."""
        self._processing.remove(cell)
        if cell in self._aside:
            self._aside.remove(cell)
            self._return(cell)

    def _return(self, cell: int) -> None:
        """Put a key back into its place. All before it are others that came back, or cut into the line."""
        before: list[int] = []
        while (first := self._queue.first) is not None and self._places[first] < self._places[cell]:
            self._queue.remove(first)
            before.append(first)
        for returned in (cell, *reversed(before)):
            self._queue.prepend(returned)
