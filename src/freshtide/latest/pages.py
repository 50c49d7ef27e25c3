"""Memory for tuples in pages of few locations, taken from one pool on demand (Moga et al. 2009, section 7.1).

A page is a run of locations in the flat columns of its layout. It costs nothing beyond its locations, so pages can be
small, and little of what is allocated lies idle.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from freshtide.core.errors import FreshtideError

ColumnKind = Literal["int", "float", "object"]
Column = MutableSequence[Any]

PAGE_SIZE = 2
"""Locations of a page, or blocks where more than one tuple is kept together."""
NOWHERE = -1
"""The location of what is not stored."""
_SLOT_BYTES = 8
_LEAST_GROWTH = 64


class MemoryLimitError(FreshtideError):
    """The pool may not grow any further. What did not fit was not stored; nothing else was touched."""

    def __init__(self, limit: int, *, taken: int = 0, dropped: Sequence[int] = ()) -> None:
        super().__init__(
            f"The memory for pending tuples is full: its limit is {limit:,} bytes.",
            way_out="Raise the limit, or let less wait: serve more, or wait with what comes in.",
        )
        self.limit = limit
        self.taken = taken
        """How many tuples of those that came together were stored before the limit was met."""
        self.dropped = dropped
        """The tags of what was superseded by those."""


@dataclass(frozen=True, slots=True)
class TupleLayout:
    """The columns that a location has a slot in. Of an object it holds a reference: what that refers to is extra."""

    columns: tuple[ColumnKind, ...]

    @property
    def location_bytes(self) -> int:
        """One slot per column, and one for the owner of the location."""
        return _SLOT_BYTES * (len(self.columns) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Locations with a tuple, and all locations of the pages that are held for them."""

    used: int
    allocated: int

    @property
    def effective(self) -> float:
        """The share of what is allocated that is in use (section 7.3); nothing is wasted of nothing."""
        return self.used / self.allocated if self.allocated else 1.0


class PageHolder(Protocol):
    """Who holds pages of a store."""

    def page_moved(self, page: int, target: int) -> None:
        """What lay in a page lies in another one now, location by location."""
        ...


class PageStore:
    """All pages of one layout and size, each a run of locations in the same columns. A page is named by its first."""

    def __init__(self, pool: PagePool, layout: TupleLayout, page_locations: int) -> None:
        self.layout = layout
        self.page_locations = page_locations
        self.page_bytes = page_locations * layout.location_bytes
        self.columns: tuple[Column, ...] = tuple(_empty_column(kind) for kind in layout.columns)
        self.objects: tuple[Column, ...] = tuple(
            column for kind, column in zip(layout.columns, self.columns, strict=True) if kind == "object"
        )
        self.owners = array("q")
        self._pool = pool
        self._given_back: list[int] = []
        self._holders: list[PageHolder | None] = []
        self._untouched = 0
        """Locations from here on were never handed out."""

    @property
    def allocated_bytes(self) -> int:
        return len(self.owners) * self.layout.location_bytes

    @property
    def used_bytes(self) -> int:
        return (self._untouched - len(self._given_back) * self.page_locations) * self.layout.location_bytes

    def take(self, holder: PageHolder) -> int:
        """A page that nobody holds: the lowest."""
        if self._given_back:
            page = heapq.heappop(self._given_back)
        else:
            page = self._untouched
            if page == len(self.owners):
                self._extend(self._pool.grant(self, max(_LEAST_GROWTH, len(self._holders) // 8)))
            self._untouched = page + self.page_locations
        self._holders[page // self.page_locations] = holder
        return page

    def give_back(self, page: int) -> None:
        self._holders[page // self.page_locations] = None
        heapq.heappush(self._given_back, page)

    def reclaim(self, holder: PageHolder) -> None:
        """Take back all pages of one who does not use them any more."""
        size = self.page_locations
        for number, other in enumerate(self._holders):
            if other is holder:
                for column in self.objects:
                    column[number * size : (number + 1) * size] = [None] * size
                self.give_back(number * size)

    def trim(self) -> None:
        """Move all pages that are held to the beginning of the columns, and cut off the rest."""
        size = self.page_locations
        free = deque(sorted(self._given_back))
        self._given_back.clear()
        while free:
            self._untouched -= size
            if free[-1] == self._untouched:
                free.pop()
            else:
                self._move(self._untouched, free.popleft())
        for column in (self.owners, *self.columns):
            del column[self._untouched :]
        del self._holders[self._untouched // size :]

    def _move(self, page: int, target: int) -> None:
        size = self.page_locations
        for column in (self.owners, *self.columns):
            column[target : target + size] = column[page : page + size]
        holder = self._holders[target // size] = self._holders[page // size]
        assert holder is not None, "a page that was not given back is held"
        holder.page_moved(page, target)

    def _extend(self, pages: int) -> None:
        more = pages * self.page_locations
        for kind, column in zip(self.layout.columns, self.columns, strict=True):
            column.extend([None] * more if kind == "object" else array(_TYPECODES[kind], bytes(_SLOT_BYTES * more)))
        self.owners.extend(array("q", bytes(_SLOT_BYTES * more)))
        self._holders.extend([None] * pages)


class PagePool:
    """The memory that all queues of a storage manager get their pages from, up to a limit in bytes."""

    def __init__(self, *, limit: int | None = None) -> None:
        self.limit = limit
        self._stores: dict[tuple[TupleLayout, int], PageStore] = {}

    @property
    def allocated_bytes(self) -> int:
        """What is preallocated, whether queues hold it or not: never above the limit."""
        return sum(store.allocated_bytes for store in self._stores.values())

    @property
    def used_bytes(self) -> int:
        """What the pages that queues hold take up."""
        return sum(store.used_bytes for store in self._stores.values())

    def store(self, layout: TupleLayout, page_locations: int) -> PageStore:
        """The pages of this layout and size, shared by all that ask for them."""
        try:
            return self._stores[layout, page_locations]
        except KeyError:
            return self._stores.setdefault((layout, page_locations), PageStore(self, layout, page_locations))

    def grant(self, store: PageStore, pages: int) -> int:
        """How many of so many pages the store may add. Others give up what nobody holds before one is refused."""
        if self.limit is None:
            return pages
        granted = self._room(store)
        if granted == 0:
            for other in self._stores.values():
                if other is not store:
                    other.trim()
            granted = self._room(store)
        if granted == 0:
            raise MemoryLimitError(self.limit)
        return min(pages, granted)

    def _room(self, store: PageStore) -> int:
        assert self.limit is not None
        return (self.limit - self.allocated_bytes) // store.page_bytes


_TYPECODES = {"int": "q", "float": "d"}


def _empty_column(kind: ColumnKind) -> Column:
    return [] if kind == "object" else array(_TYPECODES[kind])
