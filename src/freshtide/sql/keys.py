"""Update keys in SQL: whether a query keeps the key of its rows, and makes each row of rows of that key alone.

Both are demanded of every query over an update stream (Moga et al. 2009, section 3.2): a map must not change the key,
an aggregate groups by it, a join equates it, a union has it on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from freshtide.sql.rowtimes import is_row_wise_call
from freshtide.sql.selects import group_keys
from freshtide.sql.shapes import SourceShape, shape_of
from freshtide.sql.text import ParsedQuery


def key_fault(query: ParsedQuery, sources: Mapping[str, tuple[str, ...] | None], column: str) -> str | None:
    """Why a row of the query is not made of rows with its own value of a key column alone; None: it is.

    It is the question that is asked of a time column whose buckets are instants, so it is answered in the same way.
    `sources` has the columns of each source, where they are known.
    """
    # A time stamp that is cast to a time stamp or cut to whole microseconds stays the same; a key may be anything.
    strict = replace(query, expression=query.expression.transform(_made_opaque))
    shapes = {name: SourceShape(time_column=column, columns=columns) for name, columns in sources.items()}
    shape = shape_of(strict, shapes, time_column=column)
    if shape.time_column is None:
        return f"it does not put '{column}' out"
    if shape.grain is None or not shape.grain.is_instant:
        return f"its column '{column}' is not that of its source as it is"
    return None if shape.local else shape.reason.replace("time column", "key column")


def grouped_columns(query: ParsedQuery) -> tuple[str, ...] | None:
    """The columns, in lower case, that a query groups by in the end; None where it does not or by something else."""
    select = query.expression
    group = select.args.get("group") if isinstance(select, exp.Select) else None
    if not isinstance(select, exp.Select) or group is None or not group.expressions:
        return None
    keys = list(dict.fromkeys(group_keys(select, group)))
    return tuple(key.name.lower() for key in keys) if all(isinstance(key, exp.Column) for key in keys) else None


def _made_opaque(node: exp.Expr) -> exp.Expr:
    """Casts and calls within a function that is known to work row by row, and to change what it is given."""
    changes = isinstance(node, exp.Cast) or (isinstance(node, exp.Anonymous) and is_row_wise_call(node))
    return exp.Lower(this=node.copy()) if changes else node
