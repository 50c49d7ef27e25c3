"""What can be done with a queue, for properties: enqueue one, enqueue several, dequeue some."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from freshtide.latest.pages import ColumnKind
from freshtide.latest.tuples import StreamTuple

VALUES: tuple[ColumnKind, ...] = ("int", "float", "object")


@dataclass(frozen=True, slots=True)
class Enqueue:
    keys: tuple[str, ...]
    together: bool


@dataclass(frozen=True, slots=True)
class Dequeue:
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: int


KEYS = st.sampled_from("abcdefghij")
OPERATIONS = st.lists(
    st.one_of(
        st.builds(Enqueue, st.lists(KEYS, min_size=1, max_size=5).map(tuple), st.booleans()),
        st.builds(Dequeue, st.integers(0, 4)),
        st.builds(Wait, st.integers(1, 20)),
    ),
    max_size=30,
)


def numbered(key: str, number: int, now: float, *, tag: int) -> StreamTuple:
    """A tuple that no other is equal to."""
    return StreamTuple(now, key, (number, number / 2, f"value {number}"), tag)


def columns(items: list[StreamTuple]) -> list[list[object]]:
    return [list(column) for column in zip(*(item.values for item in items), strict=True)]
