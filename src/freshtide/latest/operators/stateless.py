"""Operators that take one tuple after another and remember nothing."""

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


class Map:
    """Gives each tuple new values (section 3.2). The function cannot touch its key and its time: both are retained."""

    inputs = 1

    def __init__(self, function: Callable[[StreamTuple], tuple[object, ...]]) -> None:
        self._function = function

    def process(self, element: Element, port: int) -> Iterable[Element]:  # noqa: ARG002 - there is one input
        if isinstance(element, MarkedTuple):
            yield element if element.item is None else element._replace(item=self._mapped(element.item))
        else:
            yield self._mapped(element)

    def _mapped(self, item: StreamTuple) -> StreamTuple:
        return item._replace(values=self._function(item))
