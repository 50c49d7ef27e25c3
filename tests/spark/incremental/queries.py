"""The query of a seed: a relation is drawn from a table and grown by operators, so that every text is valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tests.spark.incremental.grown import groups, meetings, orders, shapes
from tests.spark.incremental.grown.drawing import Columns, Drawing, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A text, the kinds of its columns, and its operators in pairs."""

    text: str
    columns: Columns
    pairs: frozenset[tuple[str, str]]


def query(seed: int, tables: Mapping[str, Columns], *, most: int = 5) -> Query:
    """The query of a seed."""
    drawn = Drawing(Random(seed), tables, _OPERATORS).grown(Random(~seed).randint(1, most))
    return Query(text=drawn.text, columns=drawn.columns, pairs=drawn.pairs)


_OPERATORS: Mapping[str, Operator] = {
    "filter": shapes.filtered,
    "project": shapes.project,
    "distinct": shapes.distinct,
    "union": shapes.union,
    "set": shapes.set_operation,
    "inner join": meetings.inner_join,
    "left join": meetings.left_join,
    "right join": meetings.right_join,
    "full join": meetings.full_join,
    "semi join": meetings.semi_join,
    "anti join": meetings.anti_join,
    "exists": meetings.exists,
    "in": meetings.within,
    "group": groups.group,
    "grouping sets": groups.grouping_sets,
    "pivot": groups.pivot,
    "scalar subquery": meetings.scalar,
    "top": orders.top,
    "first by key": orders.first_by_key,
    "running": orders.running,
    "sliding": groups.sliding,
    "sessions": groups.sessions,
    "local time": groups.local_time,
    "explode": shapes.explode,
}

OPERATORS = tuple(_OPERATORS)
