"""Key cells: a number for each key, and lists of keys by those numbers (Moga et al. 2009, section 7, figure 15).

Everything about a key stands in columns at the number of its cell: where its tuple lies, who is before and behind it,
how often it updates. So a key costs a few numbers, and no object of its own.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator

_END = 0
"""No cell has this number: in a list it stands for the place behind the last and before the first."""
_ABSENT = -1
MOST_IDLE = 100_000
"""So many keys are remembered of which nothing waits. Beyond that those are forgotten that were silent longest."""


class KeyCells:
    """The key hash table: which cell belongs to which key.

    Cells are numbered from 1. A cell stays while something of its key waits, and for long after that: it is known how
    often the key updates. The cell of a key that is forgotten goes to another one.
    """

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.keys: list[Hashable] = [None]
        """By cell."""
        self._unused: list[int] = []

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, key: Hashable) -> int:
        """A cell for a key that has none."""
        if self._unused:
            cell = self.numbers[key] = self._unused.pop()
            self.keys[cell] = key
            return cell
        cell = self.numbers[key] = len(self.keys)
        self.keys.append(key)
        return cell

    def forget(self, cell: int) -> None:
        """Let go of a key of which nothing waits."""
        del self.numbers[self.keys[cell]]
        self.keys[cell] = None
        self._unused.append(cell)


class KeyList:
    """The queue of keys: a doubly linked list of cells. A cell is in it once at most."""

    def __init__(self) -> None:
        self._following = array("i", [_END])
        self._preceding = array("i", [_END])

    @property
    def first(self) -> int | None:
        """The cell at the head."""
        return self._following[_END] or None

    def __iter__(self) -> Iterator[int]:
        cell = self._following[_END]
        while cell != _END:
            yield cell
            cell = self._following[cell]

    def __contains__(self, cell: int) -> bool:
        return cell < len(self._following) and self._following[cell] != _ABSENT

    def append(self, cell: int) -> None:
        """At the tail, a cell that is not in the list."""
        if cell >= len(self._following):
            self._reach(cell)
        last = self._preceding[_END]
        self._following[last] = self._preceding[_END] = cell
        self._preceding[cell] = last
        self._following[cell] = _END

    def prepend(self, cell: int) -> None:
        """At the head, a cell that is not in the list."""
        if cell >= len(self._following):
            self._reach(cell)
        first = self._following[_END]
        self._preceding[first] = self._following[_END] = cell
        self._following[cell] = first
        self._preceding[cell] = _END

    def remove(self, cell: int) -> None:
        """Take out a cell that is in the list."""
        before, behind = self._preceding[cell], self._following[cell]
        self._following[before] = behind
        self._preceding[behind] = before
        self._following[cell] = _ABSENT

    def _reach(self, cell: int) -> None:
        # Ahead of need: keys come one by one, and to grow for each of them would take most of the time.
        more = array("i", [_ABSENT]) * (cell + 1 - len(self._following) + cell // 8)
        self._following.extend(more)
        self._preceding.extend(more)
