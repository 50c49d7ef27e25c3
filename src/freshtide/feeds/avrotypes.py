"""Avro's types as Arrow's, and values as Arrow takes them.

What has no type in a table is text: values that may be of several types. A time of day is a number, as it is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pyarrow as pa

from freshtide.feeds.avroblocks import AvroError

_Conversion = Callable[[Any], Any]
INSTANT, LOCAL = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
"""Times of Avro, with a zone and without one."""
_SIMPLE = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_WIDENED = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}
"""Of values that may be of either type."""
_MOST_DIGITS = 38
_LARGEST = 2**63 - 1
_MICROS: Mapping[str, Callable[[int], int]] = {
    # Beyond what fits there is no time of any table, and the row is rejected for that.
    "millis": lambda value: max(-_LARGEST, min(_LARGEST, value * 1_000)),
    "micros": lambda value: value,
    "nanos": lambda value: value // 1_000,
}


def fields_of(schema: Any) -> dict[str, Any]:
    """The columns of a file: names, and types with everything in them spelt out."""
    from fastavro.schema import expand_schema

    try:
        record: Any = expand_schema(schema)
    except Exception as error:  # whatever a schema that is none makes the library stumble over
        raise AvroError(f"its schema cannot be understood: {type(error).__name__} {error}") from error
    if not isinstance(record, dict) or record.get("type") not in ("record", "error"):
        raise AvroError("its rows are no records")
    return {field["name"]: field["type"] for field in record["fields"]}


def undressed(schema: Any) -> Any:
    """The schema without logical types but decimals: values stay what they are stored as."""
    if isinstance(schema, list):
        return [undressed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: undressed(part) if key != "default" else part for key, part in schema.items()}
    if not _is_decimal(kept):
        kept.pop("logicalType", None)
    return kept


def arrow_type(schema: Any, *, local: pa.DataType = LOCAL) -> pa.DataType:
    """The type of a column, or of values inside of it; `local` is that of times without a zone."""
    kind, details = _kind(schema)
    if kind == "union":
        return pa.string()
    if kind == "record":
        return pa.struct([(field["name"], arrow_type(field["type"], local=local)) for field in details["fields"]])
    if kind in ("array", "map"):
        inner = arrow_type(details["items" if kind == "array" else "values"], local=local)
        if pa.types.is_null(inner) or inner == pa.struct([]):
            # They take no room in a file: a few bytes could be as many of them as there are numbers.
            raise AvroError(f"it has {kind}s of nothing")
        return pa.list_(inner) if kind == "array" else pa.map_(pa.string(), inner)
    if kind not in _SIMPLE:
        raise AvroError(f"the type '{kind}' has itself inside, or is none")
    return _logical(kind, details, local) or _SIMPLE[kind]


def value_of(schema: Any) -> _Conversion:
    """What makes a value as Arrow takes it of one as it was decoded."""
    convert = _conversion(schema)
    return lambda value: value if value is None or convert is None else convert(value)


def _conversion(schema: Any) -> _Conversion | None:
    """The same for values that are there; None where they are taken as they are."""
    kind, details = _kind(schema)
    if kind in _INSIDE:
        return _INSIDE[kind](details)
    if arrow_type(schema) in (INSTANT, LOCAL):
        return _MICROS[details["logicalType"].rpartition("-")[2]]
    if kind == "fixed" and details.get("logicalType") == "uuid":
        return lambda value: str(UUID(bytes=value))
    return _text if _is_decimal(details) and details["precision"] > _MOST_DIGITS else None


def _record(details: Mapping[str, Any]) -> _Conversion:
    parts = {field["name"]: value_of(field["type"]) for field in details["fields"]}
    return lambda value: {name: part(value[name]) for name, part in parts.items()}


def _array(details: Mapping[str, Any]) -> _Conversion:
    item = value_of(details["items"])
    return lambda value: [item(each) for each in value]


def _map(details: Mapping[str, Any]) -> _Conversion:
    inner = value_of(details["values"])
    return lambda value: [(key, inner(each)) for key, each in value.items()]


def _kind(schema: Any) -> tuple[str, dict[str, Any]]:
    """The name of a type and what is said about it; of a value that may be missing, that of one that is not."""
    if isinstance(schema, list):
        there = [part for part in schema if part != "null"]
        if len(there) > 1:
            widened = _WIDENED.get(frozenset(part for part in there if isinstance(part, str)))
            return ("union", {}) if widened is None or len(there) > 2 else (widened, {})
        return _kind(there[0] if there else "null")
    if isinstance(schema, dict):
        kind, details = _kind(schema["type"])
        return "record" if kind == "error" else kind, schema if isinstance(schema["type"], str) else details
    return str(schema), {}


def _logical(kind: str, details: Mapping[str, Any], local: pa.DataType) -> pa.DataType | None:
    logical = details.get("logicalType")
    if kind == "int" and logical == "date":
        return pa.date32()
    for before, times in (("", INSTANT), ("local-", local)):
        if kind == "long" and logical in {f"{before}timestamp-{unit}" for unit in _MICROS}:
            return times
    if kind == "fixed" and logical == "uuid":
        return pa.string()
    if kind in ("bytes", "fixed") and _is_decimal(details):
        precision, scale = details["precision"], details.get("scale", 0)
        return pa.decimal128(precision, scale) if precision <= _MOST_DIGITS else pa.string()
    return None


def _is_decimal(details: Mapping[str, Any]) -> bool:
    precision, scale = details.get("precision"), details.get("scale", 0)
    is_valid = isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision and precision > 0
    return details.get("logicalType") == "decimal" and is_valid


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=_shown, ensure_ascii=False)


def _shown(value: Any) -> Any:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


_INSIDE: Mapping[str, Callable[[Mapping[str, Any]], _Conversion]] = {
    "union": lambda _: _text,
    "record": _record,
    "array": _array,
    "map": _map,
}
"""Of values with values inside, and of those that may be of several types."""
