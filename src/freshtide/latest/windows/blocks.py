"""Blocks: runs of consecutive tuples of one key, in pages from the pool (Moga et al. 2009, section 7.2)."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from freshtide.latest.memories import PagedMemory
from freshtide.latest.pages import PAGE_SIZE, ColumnKind, PagePool, TupleLayout
from freshtide.latest.tuples import UNTAGGED, StreamTuple

NO_BLOCK = -1
BLOCK_SIZE = 4
"""Tuples of a block."""


class Location(NamedTuple):
    """A place within a block. Blocks keep their numbers, wherever the memory beneath moves them."""

    block: int
    offset: int


class Blocks:
    """The FLCZ structures of a queue: for each block by its number how far it is filled, and its neighbours.

    The paper's structure also has the offset that is dequeued from. Windows overlap, so a tuple that has been dequeued
    for one may be waiting for the next: who still needs which tuples of a block is what its window buffer knows.
    """

    def __init__(
        self, pool: PagePool, values: Sequence[ColumnKind], *, block_size: int = BLOCK_SIZE, page_size: int = PAGE_SIZE
    ) -> None:
        self.size = block_size
        self.memory = PagedMemory(pool, TupleLayout(("float", "int", *values)), block=block_size, page_size=page_size)
        self._times, self._tags, *self._values = self.memory.store.columns
        self._locations = self.memory.locations
        self.filled = array("i")
        self.following = array("i")
        self.preceding = array("i")
        self._unused: list[int] = []

    def allocate(self, preceding: int) -> int:
        """A new block behind this one, or behind none. MemoryLimitError if there is no room: then all is as it was."""
        block = self._unused[-1] if self._unused else len(self.filled)
        self.memory.add(block)
        if self._unused:
            self._unused.pop()
            self.filled[block] = 0
            self.following[block] = NO_BLOCK
            self.preceding[block] = preceding
        else:
            self.filled.append(0)
            self.following.append(NO_BLOCK)
            self.preceding.append(preceding)
        if preceding != NO_BLOCK:
            self.following[preceding] = block
        return block

    def free(self, block: int) -> None:
        """Take a block out of its list and give its memory back."""
        before, behind = self.preceding[block], self.following[block]
        if before != NO_BLOCK:
            self.following[before] = behind
        if behind != NO_BLOCK:
            self.preceding[behind] = before
        self.memory.remove(block)
        self._unused.append(block)

    def write(self, block: int, offset: int, time: float, values: Sequence[Any], tag: int) -> None:
        place = self._locations[block] + offset
        self._times[place] = time
        self._tags[place] = tag
        for column, value in zip(self._values, values, strict=True):
            column[place] = value

    def read(self, location: Location, key: Hashable) -> StreamTuple:
        place = self._locations[location.block] + location.offset
        values = tuple([column[place] for column in self._values])
        return StreamTuple(self._times[place], key, values, self._tags[place])

    def time(self, location: Location) -> float:
        time: float = self._times[self._locations[location.block] + location.offset]
        return time

    def tag(self, location: Location) -> int:
        tag: int = self._tags[self._locations[location.block] + location.offset]
        return tag

    def tags(self, location: Location) -> Sequence[int]:
        """The tag of the tuple, if it has one."""
        tag = self.tag(location)
        return () if tag == UNTAGGED else (tag,)

    def after(self, location: Location) -> Location | None:
        """The next tuple of the key, in the same block or in the one behind it."""
        block, offset = location
        if offset + 1 < self.filled[block]:
            return Location(block, offset + 1)
        behind = self.following[block]
        return None if behind == NO_BLOCK else Location(behind, 0)
