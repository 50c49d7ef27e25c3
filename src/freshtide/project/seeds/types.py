"""The types of a seed's columns, by what stands in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime

_BIGINT = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DOUBLE = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:[eE][+-]?\d{1,2})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?")


def inferred_type(values: Iterable[str]) -> str:
    """The narrowest type that all values of a column have; empty ones say nothing.

    A number with zeros before it, such as a postcode, is text: as a number it would lose them.
    """
    given = [value for value in values if value]
    for type_, is_one in _TYPES:
        if given and all(map(is_one, given)):
            return type_
    return "string"


def _is_boolean(value: str) -> bool:
    return value.lower() in ("true", "false")


def _is_date(value: str) -> bool:
    return _DATE.fullmatch(value) is not None and _is_read_by(date.fromisoformat, value)


def _is_timestamp(value: str) -> bool:
    return _TIMESTAMP.fullmatch(value) is not None and _is_read_by(datetime.fromisoformat, value)


def _is_read_by(read: object, value: str) -> bool:
    assert callable(read)
    try:
        read(value)
    except ValueError:
        return False
    return True


_TYPES = (
    ("boolean", _is_boolean),
    ("bigint", lambda value: _BIGINT.fullmatch(value) is not None),
    ("double", lambda value: _DOUBLE.fullmatch(value) is not None),
    ("date", _is_date),
    ("timestamp", _is_timestamp),
)
"""The narrowest first."""
