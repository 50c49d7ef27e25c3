"""Times wherever they are in a column: by themselves, or within structs, arrays and maps.

Two kinds need more than Spark's own reading. Parquet's nanoseconds come as numbers. And of a text that says a time of
day only Spark makes that time of the current day: what would be stored would hang on the day of the load.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampNTZType, TimestampType

from freshtide.core.feeds import UTC_ZONE, Column
from freshtide.spark.localtimes import instant_at
from freshtide.spark.schemas import literal, quoted, schema_from_ddl

Path = tuple[str, ...]
"""From a column down to a value: names of fields in lower case, `element`, `key` and `value`."""
_ELEMENT, _KEY, _VALUE = "element", "key", "value"
_TIMES = (TimestampType, TimestampNTZType)
_MAY_HOLD_INSTANTS = re.compile(r"\btimestamp\b", re.IGNORECASE)
_TIME_OF_DAY = literal(r"^[\x00-\x20\x7F]*(\d{1,2}:|T\d)")


def holds_instants(type_: str) -> bool:
    """Whether a type is that of instants, or has them inside. A timestamp without a zone is never of today."""
    return _MAY_HOLD_INSTANTS.search(type_) is not None


def type_of_numbers(column: Column, nanoseconds: frozenset[Path]) -> str:
    """The column's type with numbers in place of the times at these paths."""

    def number(path: Path, kind: DataType) -> str | None:
        return "bigint" if path in nanoseconds and isinstance(kind, _TIMES) else None

    return _retyped(_kind(column.type), (column.name.lower(),), number)


def times_of_numbers(
    column: Column, nanoseconds: frozenset[Path], *, local: frozenset[Path] = frozenset(), zone: str = UTC_ZONE
) -> str:
    """The column's value, from one of the type with numbers; rounded down to microseconds, also before 1970.

    Instants at the paths in `local` are local times of the zone.
    """

    def time(value: str, kind: DataType, path: Path) -> str:
        if path in nanoseconds and isinstance(kind, _TIMES):
            value = f"CAST(timestamp_micros(CAST(floor({value} / 1000BD) AS BIGINT)) AS {kind.simpleString()})"
        return _instant(value, kind, path, local, zone)

    places = nanoseconds if zone == UTC_ZONE else nanoseconds | local
    return _rebuilt(quoted(column.name), _kind(column.type), (column.name.lower(),), places, time)


def times_of_zone(column: Column, local: frozenset[Path], zone: str) -> str:
    """The column's value, where instants at these paths are local times of the zone, or dates."""

    def time(value: str, kind: DataType, path: Path) -> str:
        return _instant(f"CAST({value} AS TIMESTAMP)", kind, path, local, zone) if isinstance(kind, _TIMES) else value

    places = frozenset() if zone == UTC_ZONE else local
    return _rebuilt(quoted(column.name), _kind(column.type), (column.name.lower(),), places, time)


def type_of_texts(column: Column) -> str:
    """The column's type with texts in place of instants."""

    def text(_: Path, kind: DataType) -> str | None:
        return "string" if isinstance(kind, TimestampType) else None

    return _retyped(_kind(column.type), (column.name.lower(),), text)


def has_time_of_day(value: str, column: Column) -> str:
    """Whether a value of the type with texts has a time of day for an instant; as SQL, never null."""
    return f"coalesce({_any_time_of_day(value, _kind(column.type), 0) or 'false'}, false)"


@lru_cache(maxsize=1_024)
def _kind(type_: str) -> DataType:
    return schema_from_ddl(f"x {type_}").fields[0].dataType


def _retyped(kind: DataType, path: Path, leaf: Callable[[Path, DataType], str | None]) -> str:
    match kind:
        case StructType():
            inner = ((field.name, _retyped(field.dataType, (*path, field.name.lower()), leaf)) for field in kind)
            return f"struct<{', '.join(f'{quoted(name)}: {type_}' for name, type_ in inner)}>"
        case ArrayType():
            return f"array<{_retyped(kind.elementType, (*path, _ELEMENT), leaf)}>"
        case MapType():
            key, value = (
                _retyped(part, (*path, name), leaf) for part, name in ((kind.keyType, _KEY), (kind.valueType, _VALUE))
            )
            return f"map<{key}, {value}>"
    return leaf(path, kind) or kind.simpleString()


def _instant(value: str, kind: DataType, path: Path, local: frozenset[Path], zone: str) -> str:
    is_local = zone != UTC_ZONE and path in local and isinstance(kind, TimestampType)
    return instant_at(zone, value) if is_local else value


def _rebuilt(
    value: str, kind: DataType, path: Path, places: frozenset[Path], leaf: Callable[[str, DataType, Path], str]
) -> str:
    """The value with what `leaf` makes of those at some places within it."""
    if not any(found[: len(path)] == path for found in places):
        return value

    def inner(of: str, part: DataType, name: str) -> str:
        return _rebuilt(of, part, (*path, name.lower()), places, leaf)

    one = f"x{len(path)}"
    match kind:
        case StructType():
            fields = (
                f"{literal(field.name)}, {inner(f'{value}.{quoted(field.name)}', field.dataType, field.name)}"
                for field in kind
            )
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(fields)}) END"
        case ArrayType():
            return f"transform({value}, {one} -> {inner(one, kind.elementType, _ELEMENT)})"
        case MapType():
            keys = f"transform_keys({value}, ({one}, y) -> {inner(one, kind.keyType, _KEY)})"
            return f"transform_values({keys}, (y, {one}) -> {inner(one, kind.valueType, _VALUE)})"
    return leaf(value, kind, path)


def _any_time_of_day(value: str, kind: DataType, depth: int) -> str | None:
    one = f"x{depth}"
    match kind:
        case TimestampType():
            return f"{value} RLIKE {_TIME_OF_DAY}"
        case StructType():
            inner = (_any_time_of_day(f"{value}.{quoted(field.name)}", field.dataType, depth + 1) for field in kind)
            return " OR ".join(f"coalesce({found}, false)" for found in inner if found) or None
        case ArrayType():
            found = _any_time_of_day(one, kind.elementType, depth + 1)
            return f"exists({value}, {one} -> {found})" if found else None
        case MapType():
            parts = (("map_keys", kind.keyType), ("map_values", kind.valueType))
            listed = ((of, _any_time_of_day(one, part, depth + 1)) for of, part in parts)
            return " OR ".join(f"exists({of}({value}), {one} -> {found})" for of, found in listed if found) or None
    return None
