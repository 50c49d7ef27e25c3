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


class EmptyLocations:
    """The ELP of section 7.1: the pages that are held and not full, each with its empty locations."""

    def __init__(self) -> None:
        self._pages: dict[int, list[int]] = {}
        self.count = 0

    def __len__(self) -> int:
        """Pages, not locations."""
        return len(self._pages)

    def pick(self) -> int:
        """The first empty location of the first page; there must be one."""
        page, empty = next(iter(self._pages.items()))
        location = empty.pop()
        self.count -= 1
        if not empty:
            del self._pages[page]
        return location

    def add(self, page: int, locations: list[int]) -> None:
        """Further locations of a page are empty."""
        if not locations:
            return
        empty = self._pages.get(page)
        if empty is None:
            self._pages[page] = locations
        else:
            empty += locations
        self.count += len(locations)

    def emptiest(self) -> int:
        """The page with the most empty locations; the first of several."""
        return max(self._pages, key=lambda page: (len(self._pages[page]), -page))

    def remove(self, page: int) -> list[int]:
        """Let go of a page; the locations that were empty in it."""
        empty = self._pages.pop(page, [])
        self.count -= len(empty)
        return empty


class TupleMemory(PageHolder, Protocol):
    """Where the tuples of each owner lie. Owners are small numbers, such as those of key cells."""

    store: PageStore
    locations: MutableSequence[int]
    """By owner, as far as owners have been seen; NOWHERE if nothing is stored. The sequence stays the same one."""

    @property
    def use(self) -> MemoryUse: ...

    def add(self, owner: int) -> int:
        """A location for an owner that has none. MemoryLimitError if there is no room: then all is as it was."""
        ...

    def remove(self, owner: int) -> None:
        """Free the location of an owner that has one."""
        ...


class PagedMemory:
    """On-demand paging: MemAdd and MemRem of section 7.1.

    An empty location is reused before a page is taken, and a page goes back to the pool once it is empty. One thing is
    added: as soon as the empty locations of all pages together would make up a page, the emptiest page moves into the
    others and goes back. So what is stored never takes more pages than it needs.

    With `block`, what is added and removed is a run of so many locations (section 7.2), named by its first.
    """

    def __init__(self, pool: PagePool, layout: TupleLayout, *, block: int = 1, page_size: int = PAGE_SIZE) -> None:
        self.store = pool.store(layout, block * page_size)
        self.locations: MutableSequence[int] = array("i")
        self.block = block
        self._page_size = page_size
        self._page_locations = block * page_size
        self._empty = EmptyLocations()
        self._pages = 0

    @property
    def pages(self) -> int:
        return self._pages

    @property
    def use(self) -> MemoryUse:
        """In blocks, where a block is more than one location."""
        allocated = self._pages * self._page_size
        return MemoryUse(used=allocated - self._empty.count, allocated=allocated)

    def add(self, owner: int) -> int:
        if self._empty.count:
            location = self._empty.pick()
        else:
            location = self.store.take(self)
            self._pages += 1
            self._empty.add(location, list(range(location + self.block, location + self._page_locations, self.block)))
        locations = self.locations
        if owner >= len(locations):
            _reach(locations, owner)
        locations[owner] = location
        self.store.owners[location] = owner
        return location

    def remove(self, owner: int) -> None:
        location = self.locations[owner]
        self.locations[owner] = NOWHERE
        block = self.block
        for column in self.store.objects:
            column[location : location + block] = [None] * block
        self._empty.add(location - location % self._page_locations, [location])
        if self._empty.count == self._page_size:
            self._vacate(self._empty.emptiest())

    def page_moved(self, page: int, target: int) -> None:
        empty = self._empty.remove(page)
        distance = target - page
        for location in range(page, page + self._page_locations, self.block):
            if location not in empty:
                self.locations[self.store.owners[location + distance]] = location + distance
        self._empty.add(target, [location + distance for location in empty])

    def _vacate(self, page: int) -> None:
        """Give a page back. Whatever still lies in it finds room in the others."""
        empty = self._empty.remove(page)
        if len(empty) < self._page_size:
            for location in range(page, page + self._page_locations, self.block):
                if location not in empty:
                    self._move(location, self._empty.pick())
        self.store.give_back(page)
        self._pages -= 1

    def _move(self, location: int, target: int) -> None:
        block, store = self.block, self.store
        for column in store.columns:
            column[target : target + block] = column[location : location + block]
        for column in store.objects:
            column[location : location + block] = [None] * block
        owner = store.owners[target] = store.owners[location]
        self.locations[owner] = target


class NaiveMemory:
    """What the paper compares with (section 7.3): an owner that has had a location keeps it, used or not."""

    def __init__(self, pool: PagePool, layout: TupleLayout, *, page_size: int = PAGE_SIZE) -> None:
        self.store = pool.store(layout, page_size)
        self.locations: MutableSequence[int] = array("i")
        self._kept: MutableSequence[int] = array("i")
        self._fresh = range(0)
        """What is left of the newest page."""
        self._used = 0
        self._allocated = 0

    @property
    def use(self) -> MemoryUse:
        return MemoryUse(used=self._used, allocated=self._allocated)

    def add(self, owner: int) -> int:
        if owner >= len(self._kept):
            _reach(self._kept, owner)
            _reach(self.locations, owner)
        location = self._kept[owner]
        if location == NOWHERE:
            if not self._fresh:
                page = self.store.take(self)
                self._fresh = range(page, page + self.store.page_locations)
            location = self._kept[owner] = self._fresh[0]
            self._fresh = self._fresh[1:]
            self.store.owners[location] = owner
            self._allocated += 1
        self.locations[owner] = location
        self._used += 1
        return location

    def remove(self, owner: int) -> None:
        location = self.locations[owner]
        self.locations[owner] = NOWHERE
        for column in self.store.objects:
            column[location] = None
        self._used -= 1

    def page_moved(self, page: int, target: int) -> None:
        distance = target - page
        ending = page + self.store.page_locations
        if self._fresh and page <= self._fresh[0] < ending:
            ending = self._fresh[0]
            self._fresh = range(ending + distance, target + self.store.page_locations)
        for location in range(page + distance, ending + distance):
            owner = self.store.owners[location]
            self._kept[owner] = location
            if self.locations[owner] != NOWHERE:
                self.locations[owner] = location


_TYPECODES = {"int": "q", "float": "d"}


def _empty_column(kind: ColumnKind) -> Column:
    return [] if kind == "object" else array(_TYPECODES[kind])


def _reach(locations: MutableSequence[int], owner: int) -> None:
    """Let there be an entry for this owner, and for some to come."""
    locations.extend(array("i", [NOWHERE]) * (owner + 1 - len(locations) + owner // 8))
