"""What every operator of a query can be asked: what has changed of its rows, and which rows there are.

A rule per operator says how changes of what is below it become its own. Where it needs rows that have not changed, it
asks for those of some keys alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import (
    AnsiIntervalType,
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    NullType,
    StructType,
    TimeType,
    VariantType,
)

from freshtide.core.errors import FreshtideError
from freshtide.spark.incremental.plans import SIGN, column

if TYPE_CHECKING:
    from freshtide.spark.incremental.running import Run


class NotIncrementalError(FreshtideError):
    """A query that cannot be maintained from the changes of its sources; `operator` says what stands against it."""

    def __init__(self, operator: str) -> None:
        super().__init__(
            f"There is no rule for {operator}.",
            way_out="Leave 'maintain' out, or declare 'full': then all of it is computed at each update.",
        )
        self.operator = operator


class NeedsAllError(FreshtideError):
    """These changes, or what is left of the past, do not say what has changed: all has to be computed."""


class When(Enum):
    """Of two states of the sources the one that the view was computed from, or the one that it is brought to."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Some values of some columns: no others are asked for."""

    places: tuple[int, ...]
    """Of the columns, among those of the operator that is asked."""
    values: pa.Table
    """Each once, as columns `k0`, `k1`, ..."""
    handed: Callable[[], DataFrame]
    """The same for Spark, which is not asked for where the values are looked for here."""

    def at(self, places: Iterable[int]) -> Keys:
        """The same values of other columns."""
        return replace(self, places=tuple(places))

    def restrict(self, frame: DataFrame) -> DataFrame:
        """Those rows of a frame that have one of the values."""
        return self._joined(frame, "left_semi")

    def exclude(self, frame: DataFrame) -> DataFrame:
        """All others."""
        return self._joined(frame, "left_anti")

    def _joined(self, frame: DataFrame, how: str) -> DataFrame:
        if not self.places:
            return frame if how == "left_semi" else frame.limit(0)
        return frame.join(functions.broadcast(self.handed()), self._condition(), how)

    def _condition(self) -> Column:
        pairs = [
            (functions.col(column(place)), functions.col(key_column(at)), at) for at, place in enumerate(self.places)
        ]
        # Spark finds its way quicker by values that are equal than by those that are equal or both missing.
        equal = [
            have.eqNullSafe(want) if self.values.column(at).null_count else have == want for have, want, at in pairs
        ]
        return reduce(Column.__and__, equal)


class Operator(Protocol):
    """An operator of a query, over those below it."""

    @property
    def width(self) -> int:
        """How many columns its rows have."""
        ...

    def changes(self, run: Run) -> DataFrame | None:
        """Rows that have come and gone, with their signs; None: none has."""
        ...

    def state(self, run: Run, when: When, keys: Keys | None = None) -> DataFrame:
        """All its rows, or those of some keys."""
        ...


def key_column(place: int) -> str:
    return f"k{place}"


def restricted(frame: DataFrame, keys: Keys | None) -> DataFrame:
    return frame if keys is None else keys.restrict(frame)


def union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionAll, frames)


def pushed(keys: Keys | None, passes: Mapping[int, int]) -> Keys | None:
    """The keys by the columns below that these come from; None where one of them is computed."""
    if keys is None or not all(place in passes for place in keys.places):
        return None
    return keys.at(passes[place] for place in keys.places)


def consolidated(frame: DataFrame, width: int) -> DataFrame:
    """What has come and gone, without what has done both."""
    names = [column(place) for place in range(width)]
    summed = frame.groupBy(*names).agg(functions.sum(SIGN).alias(SIGN)).where(f"{SIGN} <> 0")
    times = f"explode(array_repeat(CAST(signum({SIGN}) AS INT), CAST(abs({SIGN}) AS INT))) AS {SIGN}"
    return summed.selectExpr(*names, times)


def require_comparable(schema: StructType) -> None:
    """Changes are found by comparing rows."""
    for field in schema:
        if _has(field.dataType, *_INCOMPARABLE):
            raise NotIncrementalError(f"the column '{field.name}' of type {field.dataType.simpleString()}")


def require_storable(kind: DataType) -> None:
    """What operators keep lies in tables, and is told apart by comparing."""
    if _has(kind, *_INCOMPARABLE, *_NOT_STORED):
        raise NotIncrementalError(f"an intermediate result of type {kind.simpleString()}")


_INCOMPARABLE = (MapType, VariantType)
_NOT_STORED = (AnsiIntervalType, CalendarIntervalType, NullType, TimeType)


def _has(kind: DataType, *kinds: type[DataType]) -> bool:
    """Whether a type is one of these, or has one of them within."""
    if isinstance(kind, kinds):
        return True
    if isinstance(kind, StructType):
        return any(_has(field.dataType, *kinds) for field in kind)
    return isinstance(kind, ArrayType) and _has(kind.elementType, *kinds)
