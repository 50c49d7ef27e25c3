"""JSON objects as rows of a feed: every value of the type that the schema declares, or the reason why not."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from freshtide.core.feeds import UTC_ZONE, Column, Feed
from freshtide.core.instants import datetime_of, micros_of, seconds
from freshtide.feeds.localtimes import zone_of
from freshtide.feeds.timeformats import is_epoch, parser

_WHOLE_NUMBERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_INSTANTS = ("timestamp", "timestamp_ltz")
_MOST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A row that fits the schema."""

    time: float
    """That of its time column."""
    values: tuple[Any, ...]
    """One per column of the feed, in their order: Python values of the columns' types, times as UTC datetimes."""
    content: str
    """What it was read from."""


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that does not fit, as it came."""

    content: str
    reason: str


class _UnfitError(ValueError):
    """Says in words what is wrong with a row."""


class RowReader:
    """Reads the rows of one feed."""

    def __init__(self, feed: Feed) -> None:
        self._columns = [(column.name, _reader(feed, column), _is_needed(feed, column)) for column in feed.schema]
        self._time_at = feed.column_names.index(feed.time.column)

    def line(self, line: bytes) -> StreamRow | RejectedRow:
        """The row that a line of JSON holds."""
        try:
            content = line.decode()
        except UnicodeDecodeError:
            return RejectedRow(line.decode(errors="replace"), "it is not UTF-8")
        try:
            return self._row(_DECODER.decode(content), content)
        except _UnfitError as error:
            return RejectedRow(content, str(error))
        except (ValueError, RecursionError):
            return RejectedRow(content, "it is not valid JSON")

    def record(self, record: object) -> StreamRow | RejectedRow:
        """The row that a mapping from column to value is."""
        try:
            content = _as_text(record)
        except Exception as error:  # the words of the user's own objects, which may raise anything
            return RejectedRow(f"a {type(record).__name__}", f"it cannot be put into words: {type(error).__name__}")
        try:
            return self._row(record, content)
        except _UnfitError as error:
            return RejectedRow(content, str(error))

    def _row(self, record: object, content: str) -> StreamRow:
        if not isinstance(record, Mapping):
            raise _UnfitError("it is not an object with a value for each column")
        values: list[Any] = []
        for name, read, is_needed in self._columns:
            value = record.get(name)
            if value is not None:
                try:
                    value = read(value)
                except (ValueError, TypeError, ArithmeticError):
                    raise _UnfitError(f"column '{name}': {_shown(value)} is not {_article(read)}") from None
            elif is_needed:
                raise _UnfitError(f"column '{name}' is empty")
            values.append(value)
        time = values[self._time_at]
        moment = time if isinstance(time, datetime) else datetime.combine(time, datetime.min.time(), tzinfo=UTC)
        return StreamRow(seconds(micros_of(moment)), tuple(values), content)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads a value of a type; a ValueError or TypeError says that it is none."""

    type: str
    read: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.read(value)


def _not_a_constant(constant: str) -> object:
    """Python writes NaN and Infinity into JSON; they are none."""
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_not_a_constant)


def _is_needed(feed: Feed, column: Column) -> bool:
    return not column.nullable or column.name == feed.time.column


def _reader(feed: Feed, column: Column) -> _Reader:
    if column.name == feed.time.column and (feed.time.format is not None or column.type != "date"):
        return _Reader("timestamp", _time_in(feed.time.format, feed.time_zone))
    return _Reader(column.type, _reader_of(column.type, feed.time_zone))


def _reader_of(type_: str, zone: str) -> Callable[[Any], Any]:
    """What reads the values of a type as `normal_type` writes it, times in a zone."""
    kind, _, inside = type_.replace("(", "<", 1).partition("<")
    kind = kind.strip().lower()
    if kind in _WHOLE_NUMBERS:
        return _whole_number(_WHOLE_NUMBERS[kind])
    if kind == "decimal":
        return _decimal(type_)
    parts = _parts(inside.strip()[:-1])
    match kind:
        case "array":
            return _array(_reader_of(parts[0], zone))
        case "map":
            return _map(_reader_of(parts[0], zone), _reader_of(parts[1], zone))
        case "struct":
            fields = (part.partition(":") for part in parts)
            return _struct({name.strip().strip("`"): _reader_of(of.strip(), zone) for name, _, of in fields})
    return _time_in(None, zone) if kind in _INSTANTS else _READERS[kind]


def _parts(text: str) -> list[str]:
    """What stands between the commas that are not within brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _time_in(time_format: str | None, zone: str = UTC_ZONE) -> Callable[[Any], datetime]:
    parse, takes_numbers, local = parser(time_format, zone), is_epoch(time_format), zone_of(zone)

    def read(value: Any) -> datetime:
        if isinstance(value, datetime):
            return datetime_of(seconds(micros_of(value if value.tzinfo is not None else value.replace(tzinfo=local))))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not isinstance(value, str) and not (is_number and takes_numbers):
            raise TypeError(value)
        return datetime_of(parse(str(value)))

    return read


def _whole_number(bits: int) -> Callable[[Any], int]:
    limit = 1 << bits - 1

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
            raise TypeError(value)
        return value

    return read


def _decimal(type_: str) -> Callable[[Any], Decimal]:
    precision, _, scale = type_.partition("(")[2].rstrip(")").partition(",")
    digits, places = int(precision or 10), int(scale or 0)

    def read(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise TypeError(value)
        number = Decimal(str(value)).quantize(Decimal(1).scaleb(-places))
        if number.adjusted() >= digits - places and number:
            raise InvalidOperation(value)
        return number

    return read


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(value)
    return float(value)


def _single(value: Any) -> float:
    """Half as wide: what is beyond its range would become infinite."""
    number = _float(value)
    struct.pack("<f", number)
    return number


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _text(value: Any) -> str:
    """Spark takes the text of any JSON value for a string. Half of a pair of surrogates is no text."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text.encode()
    return text


def _date(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise TypeError(value)
    return date.fromisoformat(value.strip())


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else _text(value).encode()


def _array(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def read_all(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise TypeError(value)
        return [_optional(read, part) for part in value]

    return read_all


def _map(read_key: Callable[[Any], Any], read: Callable[[Any], Any]) -> Callable[[Any], list[tuple[Any, Any]]]:
    """As pairs, like Arrow has them."""

    def read_all(value: Any) -> list[tuple[Any, Any]]:
        if not isinstance(value, Mapping):
            raise TypeError(value)
        return [(read_key(key), _optional(read, part)) for key, part in value.items()]

    return read_all


def _struct(fields: Mapping[str, Callable[[Any], Any]]) -> Callable[[Any], dict[str, Any]]:
    def read_all(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise TypeError(value)
        return {name: _optional(read, value.get(name)) for name, read in fields.items()}

    return read_all


def _optional(read: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else read(value)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "boolean": _boolean,
    "float": _single,
    "double": _float,
    "string": _text,
    "char": _text,
    "varchar": _text,
    "binary": _bytes,
    "date": _date,
    "timestamp_ntz": lambda value: _time_in(None)(value).replace(tzinfo=None),
}


def _as_text(value: object) -> str:
    return _writable(json.dumps(value, default=str, ensure_ascii=False))


def _shown(value: object) -> str:
    return f"'{(_writable(value) if isinstance(value, str) else _as_text(value))[:_MOST_SHOWN]}'"


def _writable(text: str) -> str:
    """The same text with halves of pairs of surrogates, which no encoding has, as JSON escapes them."""
    return text.encode(errors="backslashreplace").decode()


def _article(read: _Reader) -> str:
    return f"{'an' if read.type[:1] in 'aeiouA' else 'a'} {read.type}"
