"""Whether values fit the columns that they are meant for, before any of them is stored."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

from freshtide.core.errors import FreshtideError
from freshtide.latest.pages import ColumnKind

_FORMATS = {"int": "q", "float": "d"}
MISFIT = (struct.error, OverflowError, TypeError)
"""What a check raises."""


class TupleShapeError(FreshtideError):
    """A tuple that a queue has no columns for."""

    def __init__(self, what: str, kinds: Sequence[ColumnKind]) -> None:
        kept = f"a time, a key and {len(kinds)} values ({', '.join(kinds)})" if kinds else "a time and a key"
        super().__init__(
            f"{what} does not fit: the queue keeps {kept}.",
            way_out="Declare the queue with a column per value, 'object' where a value may be missing.",
        )


def value_check(kinds: Sequence[ColumnKind]) -> Callable[..., object]:
    """A function of values that raises one of MISFIT if they are too many, too few or not of these kinds.

    Packing them is the quickest way to find out.
    """
    typed = [position for position, kind in enumerate(kinds) if kind != "object"]
    pack = struct.Struct("".join(_FORMATS[kinds[position]] for position in typed)).pack
    if len(typed) == len(kinds):
        return pack
    width = len(kinds)
    pick = itemgetter(*typed) if len(typed) > 1 else lambda values: [values[position] for position in typed]

    def check(*values: object) -> None:
        if len(values) != width:
            raise struct.error
        pack(*pick(values))

    return check


def checked_rows(
    keys: Sequence[Hashable], times: Sequence[float], columns: Sequence[Sequence[Any]], kinds: Sequence[ColumnKind]
) -> Iterable[tuple[Hashable, float, tuple[Any, ...]]]:
    """Key, time and values of each row, once it is known that all of them fit."""
    lengths = {len(keys), len(times), *(len(column) for column in columns)}
    if len(columns) != len(kinds) or len(lengths) > 1:
        raise TupleShapeError(f"A batch of {len(columns)} columns with {sorted(lengths)} values", kinds)
    try:
        numbers = array("d", times)
        fitting = [
            column if kind == "object" else array(_FORMATS[kind], column)
            for kind, column in zip(kinds, columns, strict=True)
        ]
    except MISFIT:
        raise TupleShapeError("A batch in which a value is of another kind", kinds) from None
    values = zip(*fitting, strict=True) if fitting else repeat((), len(numbers))
    return zip(keys, numbers, values, strict=True)
