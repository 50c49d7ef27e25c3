"""Windows of keys as plainly as they can be said: dictionaries and lists that forget nothing and look at everything."""

from __future__ import annotations

from dataclasses import dataclass, field

from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.latest.tuples import StreamTuple


@dataclass
class PlainKey:
    """Everything that ever came of one key."""

    arrived: list[StreamTuple] = field(default_factory=list)
    newest: float = float("-inf")
    reached: int | None = None
    """The window of the last update."""
    waiting: int | None = None
    committed: int | None = None
    handed_out: list[StreamTuple] = field(default_factory=list)
    """Of the committed window."""


@dataclass
class PlainWindowQueue:
    """What a queue of windows must do, by the definitions of the paper."""

    size: float
    slide: float
    tick: float
    semantics: WindowSemantics
    order: KeyOrder
    keys: dict[str, PlainKey] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    since: dict[str, float] = field(default_factory=dict)
    processing: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)

    def numbers(self, time: float) -> range:
        """All windows that a time not before zero can have to do with."""
        return range(-10, int(time / self.slide) + 2)

    def span(self, number: int) -> tuple[float, float]:
        return number * self.slide, number * self.slide + self.size

    def within(self, number: int, time: float) -> bool:
        start, end = self.span(number)
        return start <= time < end

    def closed(self, number: int, time: float) -> bool:
        return time >= self.span(number)[1] - self.tick

    def tuples(self, key: str, number: int) -> list[StreamTuple]:
        return [item for item in self.keys[key].arrived if self.within(number, item.time)]

    def first(self, key: str) -> int:
        """Older windows were not seen from their start."""
        time = self.keys[key].arrived[0].time
        return max(number for number in self.numbers(time) if number * self.slide <= time)

    def most_recent(self, key: str) -> int | None:
        """The MRU rules: the youngest window with a tuple that is complete (LAZY) or has started (EAGER)."""
        state = self.keys[key]
        lazy = self.semantics is WindowSemantics.LAZY
        found = [
            number
            for number in self.numbers(state.newest)
            if number >= self.first(key)
            and self.tuples(key, number)
            and (not lazy or self.closed(number, state.newest))
        ]
        return max(found, default=None)

    def enqueue(self, item: StreamTuple, now: float) -> None:
        key = str(item.key)
        state = self.keys.setdefault(key, PlainKey())
        if item.time == state.newest:
            if state.arrived and state.arrived[-1].time == item.time and state.arrived[-1] in self.stored(key):
                state.arrived[-1] = item
            return
        inside = any(self.within(number, item.time) for number in self.numbers(item.time))
        state.newest = item.time
        if inside:
            state.arrived.append(item)
        if not state.arrived:
            return
        update = self.most_recent(key)
        if update is not None and (state.reached is None or update > state.reached):
            state.reached = state.waiting = update
            if key not in self.waiting:
                self.since[key] = now
                self.waiting.append(key)
            elif self.order is KeyOrder.FIFO:
                self.waiting.remove(key)
                self.waiting.append(key)
        if key in self.idle and self.available(key):
            self.idle.remove(key)
            self.processing.append(key)

    def rest(self, key: str) -> list[StreamTuple]:
        """What is to be handed out of the committed window."""
        state = self.keys[key]
        if state.committed is None:
            return []
        upto = state.handed_out[-1].time if state.handed_out else float("-inf")
        return [item for item in self.tuples(key, state.committed) if item.time > upto]

    def complete(self, key: str) -> bool:
        state = self.keys[key]
        return state.committed is not None and self.closed(state.committed, state.newest)

    def available(self, key: str) -> bool:
        return bool(self.rest(key)) or self.complete(key)

    def stored(self, key: str) -> list[StreamTuple]:
        """What a window needs that may still be committed to, or is and has not been handed out."""
        state = self.keys[key]
        if state.waiting is not None:
            needed_from = state.waiting * self.slide
        elif self.semantics is WindowSemantics.LAZY:
            needed_from = min(n for n in self.numbers(state.newest) if not self.closed(n, state.newest)) * self.slide
        else:
            needed_from = float("inf")
        rest = self.rest(key)
        return [item for item in state.arrived if item.time >= needed_from or item in rest]

    def commit_next(self) -> str | None:
        """The first key that waits and has no window under processing."""
        for key in self.waiting:
            if key not in self.idle and key not in self.processing:
                self.waiting.remove(key)
                del self.since[key]
                state = self.keys[key]
                state.committed, state.waiting = state.waiting, None
                self.processing.append(key)
                return key
        return None

    def dequeue(self) -> tuple[str, int, StreamTuple | None, bool] | None:
        """Key and window, the tuple, and whether it closes the window."""
        while self.processing or self.commit_next() is not None:
            key = self.processing[0]
            state = self.keys[key]
            if not self.available(key):
                self.processing.remove(key)
                self.idle.append(key)
                continue
            rest = self.rest(key)
            if rest:
                state.handed_out.append(rest[0])
            number = state.committed
            assert number is not None
            closes = len(rest) <= 1 and self.complete(key)
            if closes:
                self.finish(key)
            return key, number, rest[0] if rest else None, closes
        return None

    def dequeue_window(self) -> tuple[str, int, list[StreamTuple]] | None:
        """The next whole window."""
        while self.processing or self.commit_next() is not None:
            key = self.processing[0]
            if not self.complete(key):
                self.processing.remove(key)
                self.idle.append(key)
                continue
            number = self.keys[key].committed
            assert number is not None
            self.finish(key)
            return key, number, self.tuples(key, number)
        return None

    def finish(self, key: str) -> None:
        self.processing.remove(key)
        self.keys[key].committed = None
        self.keys[key].handed_out = []
