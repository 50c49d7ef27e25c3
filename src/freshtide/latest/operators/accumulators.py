"""What an aggregate computes of a window, tuple by tuple (Moga et al. 2009, section 6.1.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from freshtide.latest.tuples import StreamTuple


class Accumulator(Protocol):
    """The partial computation on what has arrived of one window so far."""

    def add(self, item: StreamTuple) -> None: ...

    def result(self) -> object: ...


AccumulatorFactory = Callable[[], Accumulator]


class Count:
    """How many tuples there are."""

    def __init__(self) -> None:
        self._tuples = 0

    def add(self, item: StreamTuple) -> None:  # noqa: ARG002 - any counts
        self._tuples += 1

    def result(self) -> int:
        return self._tuples


class Folded:
    """The values of a column, folded from the first on; None of no tuples at all."""

    def __init__(self, column: int, fold: Callable[[Any, Any], Any]) -> None:
        self._column = column
        self._fold = fold
        self._value: Any = None

    def add(self, item: StreamTuple) -> None:
        value = item.values[self._column]
        self._value = value if self._value is None else self._fold(self._value, value)

    def result(self) -> object:
        return self._value


class Mean:
    """The arithmetic mean of a column; None of no tuples at all."""

    def __init__(self, column: int) -> None:
        self._column = column
        self._sum = 0.0
        self._tuples = 0

    def add(self, item: StreamTuple) -> None:
        value: Any = item.values[self._column]
        self._sum += value
        self._tuples += 1

    def result(self) -> float | None:
        return self._sum / self._tuples if self._tuples else None


def count() -> AccumulatorFactory:
    """The number of tuples."""
    return Count


def total(column: int) -> AccumulatorFactory:
    """The sum of a column."""
    return lambda: Folded(column, lambda sum_so_far, value: sum_so_far + value)


def minimum(column: int) -> AccumulatorFactory:
    """The least value of a column."""
    return lambda: Folded(column, min)


def maximum(column: int) -> AccumulatorFactory:
    """The greatest value of a column."""
    return lambda: Folded(column, max)


def mean(column: int) -> AccumulatorFactory:
    """The arithmetic mean of a column."""
    return lambda: Mean(column)
