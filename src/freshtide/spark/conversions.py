"""Values of the types that a file has, as values of the types that its feed declares."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from freshtide.core.feeds import Column
from freshtide.spark.parsedtexts import instant_of_text
from freshtide.spark.schemas import schema_from_ddl

_TEXTS = (StringType, CharType, VarcharType)
_TIMES = (TimestampType, TimestampNTZType)
_EXACT = (IntegralType, DecimalType)
_DIGITS = {"tinyint": 2, "smallint": 4, "int": 9, "bigint": 18}


def converted(value: str, own: str, column: Column, zone: str) -> str | None:
    """A value of a type as one of the column's, as SQL; it is null where it is none. None: no value can be one.

    Of the zone are texts that say none.
    """
    given, wanted = kind(own), kind(column.type)
    if always_fits(given, wanted):
        is_same = given.simpleString() == wanted.simpleString() or isinstance(wanted, _TEXTS)
        return value if is_same else f"CAST({value} AS {column.type})"
    if isinstance(given, _TEXTS):
        return _parsed(value, wanted, column, zone)
    if isinstance(wanted, _TEXTS) and not isinstance(given, ArrayType | MapType | StructType):
        text = f"CAST({value} AS STRING)"
        return f"try_validate_utf8({text})" if isinstance(given, BinaryType) else text
    if isinstance(given, NumericType) and isinstance(wanted, FloatType | DoubleType):
        return f"try_cast({value} AS {column.type})"
    is_narrowed = isinstance(given, NumericType) and isinstance(wanted, NumericType)
    if is_narrowed or (isinstance(given, _TIMES) and isinstance(wanted, DateType)):
        narrow = f"try_cast({value} AS {column.type})"
        # What is cut off would be lost without a word.
        return f"CASE WHEN try_cast({narrow} AS {own}) = {value} THEN {narrow} END"
    return None


def kind(type_: str) -> DataType:
    return schema_from_ddl(f"x {type_}").fields[0].dataType


def always_fits(given: DataType, wanted: DataType) -> bool:
    """Whether each value of a type has one of the other that says the same."""
    if given.simpleString() == wanted.simpleString() or isinstance(given, NullType):
        return True
    inside = _inside(given, wanted)
    return _widens(given, wanted) if inside is None else bool(inside) and all(always_fits(*pair) for pair in inside)


def _inside(given: DataType, wanted: DataType) -> list[tuple[DataType, DataType]] | None:
    """What two types of values with values inside have there: none where these have other names. None: others."""
    match given, wanted:
        case (ArrayType(), ArrayType()):
            return [(given.elementType, wanted.elementType)]
        case (MapType(), MapType()):
            return [(given.keyType, wanted.keyType), (given.valueType, wanted.valueType)]
        case (StructType(), StructType()):
            is_alike = [field.name.lower() for field in given] == [field.name.lower() for field in wanted]
            return [(a.dataType, b.dataType) for a, b in zip(given, wanted, strict=True)] if is_alike else []
    return None


def _widens(given: DataType, wanted: DataType) -> bool:
    if isinstance(given, _EXACT) and isinstance(wanted, _EXACT):
        whole, fraction = _most_digits(given)
        room, room_behind = _digits(wanted)
        return whole <= room and fraction <= room_behind
    return any(
        isinstance(given, narrow) and isinstance(wanted, wide)
        for narrow, wide in ((_TEXTS, _TEXTS), (FloatType, DoubleType), ((DateType, *_TIMES), _TIMES))
    )


def _parsed(value: str, wanted: DataType, column: Column, zone: str) -> str | None:
    if isinstance(wanted, TimestampType):
        return instant_of_text(value, column, zone)
    is_simple = isinstance(wanted, NumericType | BooleanType | DateType | TimestampNTZType)
    return f"try_cast({value} AS {column.type})" if is_simple else None


def _digits(exact: DataType) -> tuple[int, int]:
    """How many digits any number of a type may have before and after the point."""
    if isinstance(exact, DecimalType):
        return exact.precision - exact.scale, exact.scale
    return _DIGITS[exact.simpleString()], 0


def _most_digits(exact: DataType) -> tuple[int, int]:
    """How many digits some number of a type has: some whole numbers have one more than any may have."""
    whole, fraction = _digits(exact)
    return whole + isinstance(exact, IntegralType), fraction
