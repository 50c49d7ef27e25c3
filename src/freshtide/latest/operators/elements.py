"""What flows between operators, and what an operator is (Moga et al. 2009, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from freshtide.core.errors import UsageError
from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows.marks import MarkedTuple

Element = StreamTuple | MarkedTuple
"""A tuple by itself or, before an aggregate, a tuple of a committed window."""


class OperatorError(UsageError):
    """An operator that was given what it cannot work on."""


class Operator(Protocol):
    """Takes elements of one or several inputs and hands results on. It keeps the update key and its order in time."""

    @property
    def inputs(self) -> int | None:
        """How many inputs it has; None if any number."""
        ...

    def process(self, element: Element, port: int) -> Iterable[Element]:
        """What follows from an element that came from the input with this number, counted from zero."""
        ...


def plain(element: Element, operator: str) -> StreamTuple:
    """The element as a tuple by itself, which is all that this operator can work on."""
    if isinstance(element, MarkedTuple):
        raise OperatorError(
            f"A {operator} works on single tuples, and was given one of a window.",
            way_out="Put an aggregate before it.",
        )
    return element
