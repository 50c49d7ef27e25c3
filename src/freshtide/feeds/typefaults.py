"""Types that files have for columns and that no table can have, as Arrow tells them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa


def inner_types(kind: pa.DataType) -> list[tuple[str, pa.DataType]]:
    """What a type is made of: names of fields, `element`, `key` and `value`, with their types."""
    if pa.types.is_map(kind):
        return [("key", kind.key_type), ("value", kind.item_type)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [("element", kind.value_type)]
    return [(field.name, field.type) for field in kind] if pa.types.is_struct(kind) else []


def fault_of_structs(kind: pa.DataType) -> str | None:
    """What is wrong with structs, wherever they are in a type; Spark tells no names apart by case."""
    for names in _structs(kind):
        if not names:
            return "has a struct without fields"
        if not all(name.strip() for name in names):
            return "has a field without a name"
        alike = Counter(name.lower() for name in names)
        doubled = [f"'{name}'" for name in names if alike[name.lower()] > 1]
        if doubled:
            return f"has fields that differ by case alone: {', '.join(doubled)}"
    return None


def unknown_to_spark(type_: str) -> str:
    return f"is of type {type_}, which Spark has no type for"


def _structs(kind: pa.DataType) -> Iterator[list[str]]:
    """The names of the fields of each struct."""
    inner = inner_types(kind)
    if pa.types.is_struct(kind):
        yield [name for name, _ in inner]
    for _, part in inner:
        yield from _structs(part)
