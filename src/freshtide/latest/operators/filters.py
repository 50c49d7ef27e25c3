from __future__ import annotations

from collections.abc import Callable, Iterable

from freshtide.latest.operators.elements import Element
from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows.marks import Mark, MarkedTuple


class Filter:
    """Drops the tuples that do not satisfy a predicate; with updates as with appended tuples (section 3.2).

    What a dropped tuple says about its window goes on without it, so that the window opens and closes all the same.
    """

    inputs = 1

    def __init__(self, predicate: Callable[[StreamTuple], bool]) -> None:
        self._predicate = predicate

    def process(self, element: Element, port: int) -> Iterable[Element]:  # noqa: ARG002 - there is one input
        item = element.item if isinstance(element, MarkedTuple) else element
        if item is None or self._predicate(item):
            yield element
        elif isinstance(element, MarkedTuple) and (element.mark is Mark.OPENS or element.closes):
            yield element._replace(item=None)
