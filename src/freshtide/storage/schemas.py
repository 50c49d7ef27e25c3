"""Arrow schemas as tables keep them."""

from __future__ import annotations

import pyarrow as pa


def nullable(schema: pa.Schema) -> pa.Schema:
    """The schema with every field nullable.

    Whether Spark calls a column nullable depends on the plan that computed it; a table's schema must not change
    with the plan.
    """
    return pa.schema([_nullable_field(field) for field in schema])


def _nullable_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _nullable_type(field.type), nullable=True)


def _nullable_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_nullable_field(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _nullable_type(kind.value_type), nullable=True))
    if pa.types.is_map(kind):
        return pa.map_(_nullable_type(kind.key_type), _nullable_type(kind.item_type))
    return kind
