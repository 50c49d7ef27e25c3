"""The window buffer of a key: the tuples of the window under processing, and those of windows to come (section 7.2)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows.arithmetic import Window, WindowGrid
from freshtide.latest.windows.blocks import NO_BLOCK, Blocks, Location
from freshtide.latest.windows.departures import Departures
from freshtide.latest.windows.marks import Mark, MarkedTuple, mark_of


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStanding:
    """A window buffer as it is put down and taken up again.

    Its tuples, the oldest first, and what has been decided about its windows.
    """

    key: Hashable
    tuples: tuple[StreamTuple, ...] = ()
    reached: int | None = None
    """The youngest window that has started (EAGER) or is complete (LAZY)."""
    waiting: int | None = None
    committed: int | None = None
    kept_from: float | None = None
    """From this time on tuples are for windows that may be committed to later."""
    newest_time: float | None = None
    newest_within: float | None = None
    handed_out_to: float | None = None
    """The newest tuple that was ever handed out has this time; older ones that are there wait for further windows."""

    def is_served(self, item: StreamTuple) -> bool:
        """Whether a tuple of the key has been handed out with a window."""
        return self.handed_out_to is not None and item.time <= self.handed_out_to


class WindowBuffer:
    """A list of blocks with the tuples of one key in the order of their times, and four places in it.

    - The newest tuple (the paper's ET) is the last one of the last block.
    - `_kept_from` (WS) is where the enqueue buffer begins: the oldest tuple that a window needs which may still be
      committed to.
    - `_next` (DF) is the next tuple of the dequeue buffer, the committed window, that has not been handed out.
    - `committed` (WE) says where that window ends.

    A tuple of overlapping windows is stored once for both buffers and leaves when neither needs it. A block leaves with
    its last tuple, from the middle of the list if need be. What is appended and let go of, and when, is up to the
    semantics (`lazy`, `eager`).
    """

    __slots__ = (
        "_blocks",
        "_departures",
        "_grid",
        "_handed_out_at",
        "_handed_out_to",
        "_kept_from",
        "_last",
        "_next",
        "committed",
        "key",
        "newest_time",
        "newest_within",
        "quiet_before",
        "reached",
        "waiting",
    )

    def __init__(self, key: Hashable, grid: WindowGrid, blocks: Blocks, departures: Departures) -> None:
        self.key = key
        self._grid = grid
        self._blocks = blocks
        self._departures = departures
        self._last = NO_BLOCK
        self._kept_from: Location | None = None
        self._next: Location | None = None
        self._handed_out_to = float("-inf")
        """The time of the newest tuple that was ever handed out."""
        self._handed_out_at: float | None = None
        """The time of the last tuple that was handed out of the committed window."""
        self.committed: Window | None = None
        self.newest_time = float("-inf")
        """Of all tuples that came, stored or not."""
        self.waiting: int | None = None
        """The number of the window that is the most recent update, unless that has been committed to."""
        self.reached: int | None = None
        """The youngest window that has started (EAGER) or is complete (LAZY); what is not younger is no update."""
        self.newest_within: float | None = None
        """The time of the newest tuple that is in a window at all."""
        self.quiet_before = float("-inf")
        """A newer tuple before this time is kept, and that is all: it closes no window, starts none and drops none."""

    @property
    def is_new(self) -> bool:
        """Has no tuple of the key come yet?"""
        return self.newest_time == float("-inf")

    @property
    def complete(self) -> bool:
        """Is the committed window known to be complete?"""
        return self.committed is not None and self.newest_time >= self.committed.closes_at

    @property
    def untouched(self) -> bool:
        """Has nothing of the committed window been handed out yet?"""
        return self._handed_out_at is None

    @property
    def available(self) -> bool:
        """Is there anything to say about the committed window: a tuple, or that it is complete (isAvail)?"""
        return self._next is not None or self.complete

    def append(self, time: float, values: Sequence[Any], tag: int, *, keep: bool) -> None:
        """Store the newest tuple; with `keep`, for windows that may be committed to later.

        MemoryLimitError if there is no room: then all is as it was.
        """
        blocks = self._blocks
        if self._last == NO_BLOCK or blocks.filled[self._last] == blocks.size:
            self._last = blocks.allocate(self._last)
        block, offset = self._last, blocks.filled[self._last]
        blocks.filled[block] = offset + 1
        blocks.write(block, offset, time, values, tag)
        self._departures.stored += 1
        if keep and self._kept_from is None:
            self._kept_from = Location(block, offset)
        if self.committed is not None and self._next is None and time < self.committed.end:
            self._next = Location(block, offset)

    def turn_away(self, tag: int, *, outside: bool = True) -> None:
        """A tuple came that no window needs: it is in none, or those that it is in are done with."""
        self._departures.turn_away(tag, outside=outside)

    def replace_newest(self, values: Sequence[Any], tag: int) -> None:
        """Put another tuple of the same time into the place of the newest one, unless that is gone."""
        location = self._newest
        if location is None or self._blocks.time(location) != self.newest_time:
            within = self._grid.holds(self._grid.last_started(self.newest_time), self.newest_time)
            self._departures.turn_away(tag, outside=not within)
            return
        if self.newest_time > self._handed_out_to:
            self._departures.supersede(self._blocks.tag(location))
        else:
            # The old one was handed out with a window that is committed to. The new one is for those to come.
            self._handed_out_to = math.nextafter(self.newest_time, float("-inf"))
        self._departures.tags += self._blocks.tags(location)
        self._blocks.write(*location, self.newest_time, values, tag)

    def erase_accumulated(self) -> None:
        """Let go of the newest tuples that only windows need which will not be committed to."""
        while (location := self._newest) is not None and self._kept_from is not None:
            if self._is_to_be_handed_out(location) or self._blocks.time(location) < self._blocks.time(self._kept_from):
                return
            if location == self._kept_from:
                self._kept_from = None
            self._leave(location)
            block = location.block
            self._blocks.filled[block] -= 1
            if self._blocks.filled[block] == 0 or not self._is_needed(block):
                self._free(block)

    def keep_from(self, time: float) -> None:
        """Let go of the tuples before this time, except those of the committed window."""
        location = self._kept_from
        while location is not None and self._blocks.time(location) < time:
            following = self._blocks.after(location)
            self._kept_from = following
            if not self._is_to_be_handed_out(location):
                self._leave(location)
            if (following is None or following.block != location.block) and not self._is_needed(location.block):
                self._free(location.block)
            location = following

    def commit(self, number: int, *, keep_from: float) -> None:
        """From now on the tuples of this window are to be handed out. The first one that is kept is its first."""
        self.committed = self._grid.window(number)
        self.waiting = None
        self._next = self._kept_from
        self.keep_from(keep_from)

    def peek(self) -> StreamTuple | None:
        """The tuple that would be handed out next, be its window committed to or not."""
        location = self._next if self.committed is not None else self._kept_from
        return None if location is None else self._blocks.read(location, self.key)

    def hand_out(self) -> MarkedTuple | None:
        """The next tuple of the committed window, or that it is complete; None if nothing is available."""
        window, location = self.committed, self._next
        if window is None or (location is None and not self.complete):
            return None
        if location is None:
            handed_out = MarkedTuple(self.key, None, Mark.CONTINUES, window, closes=True)
        else:
            item = self._blocks.read(location, self.key)
            mark = mark_of(item.time, self._handed_out_at, self._grid)
            self._pass(location, item, window)
            handed_out = MarkedTuple(self.key, item, mark, window, closes=self._next is None and self.complete)
        if handed_out.closes:
            self.committed = None
            self._handed_out_at = None
        return handed_out

    def stored(self) -> Iterator[StreamTuple]:
        """What is there, the oldest first."""
        location: Location | None = self._first
        while location is not None:
            kept = self._kept_from is not None and self._blocks.time(location) >= self._blocks.time(self._kept_from)
            if kept or self._is_to_be_handed_out(location):
                yield self._blocks.read(location, self.key)
            location = self._blocks.after(location)

    def standing(self) -> KeyStanding:
        """All that is known of the key, while no tuple of its committed window has been handed out by itself."""
        kept, committed = self._kept_from, self.committed
        return KeyStanding(
            key=self.key,
            tuples=tuple(self.stored()),
            reached=self.reached,
            waiting=self.waiting,
            committed=None if committed is None else self._grid.last_started(committed.start),
            kept_from=None if kept is None else self._blocks.time(kept),
            newest_time=None if self.is_new else self.newest_time,
            newest_within=self.newest_within,
            handed_out_to=None if self._handed_out_to == float("-inf") else self._handed_out_to,
        )

    def restore(self, standing: KeyStanding) -> None:
        """Take up again what was put down, in a buffer that is empty. MemoryLimitError if there is no room."""
        if standing.committed is not None:
            self.committed = self._grid.window(standing.committed)
        kept_from = float("inf") if standing.kept_from is None else standing.kept_from
        for item in standing.tuples:
            self.append(item.time, item.values, item.tag, keep=item.time >= kept_from)
        self.reached, self.waiting = standing.reached, standing.waiting
        self.newest_time = float("-inf") if standing.newest_time is None else standing.newest_time
        self.newest_within = standing.newest_within
        self._handed_out_to = float("-inf") if standing.handed_out_to is None else standing.handed_out_to

    @property
    def _newest(self) -> Location | None:
        return None if self._last == NO_BLOCK else Location(self._last, self._blocks.filled[self._last] - 1)

    @property
    def _first(self) -> Location | None:
        first = [location for location in (self._next, self._kept_from) if location is not None]
        return min(first, key=self._blocks.time, default=None)

    def _pass(self, location: Location, item: StreamTuple, window: Window) -> None:
        """A tuple has been handed out: go on to the next one of its window, and let go of what nobody needs."""
        time = item.time
        following = self._blocks.after(location)
        within = following is not None and self._blocks.time(following) < window.end
        self._next = following if within else None
        self._handed_out_at = time
        if time > self._handed_out_to:
            self._handed_out_to = time
            self._departures.fates.served[item.tag] += 1
        if self._kept_from is None or time < self._blocks.time(self._kept_from):
            self._leave(location)
            if (self._next is None or self._next.block != location.block) and not self._is_needed(location.block):
                self._free(location.block)

    def _is_to_be_handed_out(self, location: Location) -> bool:
        if self.committed is None or self._next is None:
            return False
        return self._blocks.time(self._next) <= self._blocks.time(location) < self.committed.end

    def _is_needed(self, block: int) -> bool:
        """Does a tuple of this block belong to one of the two buffers?"""
        first, last = Location(block, 0), Location(block, self._blocks.filled[block] - 1)
        if self._kept_from is not None and self._blocks.time(self._kept_from) <= self._blocks.time(last):
            return True
        if self._next is None:
            return False
        return self._next.block == block or self._is_to_be_handed_out(first)

    def _leave(self, location: Location) -> None:
        self._departures.stored -= 1
        self._departures.tags += self._blocks.tags(location)
        if self._blocks.time(location) > self._handed_out_to:
            self._departures.supersede(self._blocks.tag(location))

    def _free(self, block: int) -> None:
        if block == self._last:
            self._last = self._blocks.preceding[block]
        self._blocks.free(block)
