from __future__ import annotations

from collections.abc import Callable, Iterable

from freshtide.latest.operators.elements import Element
from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows.marks import MarkedTuple


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
