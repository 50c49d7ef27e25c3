from __future__ import annotations

from collections.abc import Hashable, Iterable

from freshtide.latest.operators.accumulators import Accumulator, AccumulatorFactory
from freshtide.latest.operators.elements import Element, OperatorError
from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows.marks import Mark, MarkedTuple


class Aggregate:
    """One tuple per window and key, with what was asked for of the tuples in it (sections 3.2 and 6.1).

    It does not delimit windows. The marks say which to open, which tuples are for which window, and when to emit: the
    queue has done that work (table 1). A result is stamped with the end of its window. Of windows without a tuple that
    passed the filters before it there is none.
    """

    inputs = 1

    def __init__(self, *results: AccumulatorFactory) -> None:
        self._results = results
        self._open: dict[tuple[Hashable, float], list[Accumulator]] = {}
        self._touched: set[tuple[Hashable, float]] = set()

    @property
    def open_windows(self) -> int:
        """How many windows have begun to be processed and are not complete."""
        return len(self._open)

    def process(self, element: Element, port: int) -> Iterable[Element]:  # noqa: ARG002 - there is one input
        if not isinstance(element, MarkedTuple):
            raise OperatorError(
                "An aggregate works on the tuples of windows, and was given a tuple by itself.",
                way_out="Let its input come from a queue of windows, with nothing but filters and maps in between.",
            )
        name = (element.key, element.window.start)
        if element.mark is Mark.OPENS:
            self._open[name] = [make() for make in self._results]
        if element.item is not None:
            self._touched.add(name)
            for accumulator in self._open[name]:
                accumulator.add(element.item)
        if element.closes:
            values = tuple(accumulator.result() for accumulator in self._open.pop(name))
            if name in self._touched:
                self._touched.remove(name)
                yield StreamTuple(element.window.end, element.key, values)
