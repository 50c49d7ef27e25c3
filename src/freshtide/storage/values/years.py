"""The times that a table can hold: Python and other readers have none before the year 1 and after the year 9999."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from freshtide.storage.errors import UnstorableError

BEYOND_YEARS = "lies outside of the years 1 to 9999"
_Values = TypeVar("_Values")


def require_storable_times(rows: pa.Table) -> None:
    """Refuse times and dates of other years. Those within structs, arrays and maps are not looked at."""
    for field in rows.schema:
        if not (pa.types.is_timestamp(field.type) or pa.types.is_date32(field.type)):
            continue
        number = pa.int64() if pa.types.is_timestamp(field.type) else pa.int32()
        low, high = (_limit(moment, field.type).cast(number) for moment in (datetime.min, datetime.max))
        found = pc.min_max(rows.column(field.name).cast(number))
        if (pc.less(found["min"], low)).as_py() or (pc.greater(found["max"], high)).as_py():
            raise _beyond([field.name])


def within_years(values: Callable[[], _Values], columns: Iterable[str]) -> _Values:
    """Values of these columns as Python has them."""
    try:
        return values()
    except (OverflowError, ValueError) as error:
        raise _beyond(columns) from error


def _limit(moment: datetime, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_date32(kind):
        return pa.scalar(date(moment.year, moment.month, moment.day), kind)
    return pa.scalar(moment, pa.timestamp("us")).cast(pa.timestamp(kind.unit), safe=False)


def _beyond(columns: Iterable[str]) -> UnstorableError:
    return UnstorableError(f"A time in column {', '.join(map(repr, columns))} {BEYOND_YEARS}.")
