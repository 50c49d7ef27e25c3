"""Where the tuples of each owner lie: in pages that are taken as they are needed, or in a place for every owner.

On-demand paging is section 7.1 of Moga et al. 2009, and one location per key what it is compared with (section 7.3).
"""

from __future__ import annotations

from array import array
from collections.abc import MutableSequence
from typing import Protocol

from freshtide.latest.pages import (
    NOWHERE,
    PAGE_SIZE,
    MemoryUse,
    PageHolder,
    PagePool,
    PageStore,
    TupleLayout,
)


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


def _reach(locations: MutableSequence[int], owner: int) -> None:
    """Let there be an entry for this owner, and for some to come."""
    locations.extend(array("i", [NOWHERE]) * (owner + 1 - len(locations) + owner // 8))
