from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable

from freshtide.latest.operators.elements import Element, plain
from freshtide.latest.tuples import StreamTuple


class Join:
    """Pairs of two streams with the same key, within a window of time: the most recent match (section 3.2).

    A result has the values of the left tuple, then those of the right one, and the time of the later of the two.
    Without a window only the newest tuple of each side counts. A match that is older than one that was handed on of its
    key is dropped: a result never goes back in time.
    """

    inputs = 2

    def __init__(
        self,
        *,
        window: float | None = None,
        predicate: Callable[[StreamTuple, StreamTuple], bool] = lambda _left, _right: True,
    ) -> None:
        self._window = window
        self._predicate = predicate
        self._sides: tuple[dict[Hashable, deque[StreamTuple]], dict[Hashable, deque[StreamTuple]]] = ({}, {})
        self._handed_on: dict[Hashable, float] = {}

    def process(self, element: Element, port: int) -> Iterable[Element]:
        item = plain(element, "join")
        self._remember(item, port)
        for other in reversed(self._sides[1 - port].get(item.key, ())):
            if self._window is not None and abs(other.time - item.time) >= self._window:
                continue
            left, right = (item, other) if port == 0 else (other, item)
            if self._predicate(left, right):
                yield from self._hand_on(left, right)
                return

    def _remember(self, item: StreamTuple, port: int) -> None:
        """Keep a tuple until a newer one of its side supersedes it: any, or one that is a window away."""
        kept = self._sides[port].setdefault(item.key, deque())
        kept.append(item)
        while len(kept) > 1 and (self._window is None or kept[0].time <= item.time - self._window):
            kept.popleft()

    def _hand_on(self, left: StreamTuple, right: StreamTuple) -> Iterable[StreamTuple]:
        time, key = max(left.time, right.time), left.key
        last = self._handed_on.get(key)
        if last is None or time >= last:
            self._handed_on[key] = time
            yield StreamTuple(time, key, left.values + right.values)
