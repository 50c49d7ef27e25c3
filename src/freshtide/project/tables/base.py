"""Base tables: the rows of a feed, row by row."""

from __future__ import annotations

import re

from sqlglot import exp

from freshtide.core.feeds import Feed
from freshtide.core.grains import INSTANT
from freshtide.core.tables import FunctionQuery, Maintenance, Table
from freshtide.project.declarations import DeclaredTable
from freshtide.project.tables.outputs import BuiltTable, TableError, check_partition_columns, core_query
from freshtide.project.tables.sources import ResolvedTable
from freshtide.sql import ParsedQuery, Shape, SourceShape, key_fault, shape_of

# Clauses of a SELECT after which there are as many rows as before.
_KEEPS_ROWS = frozenset({"expressions", "from_", "with_", "hint"})
_GENERATORS = frozenset({"stack", "inline", "inline_outer", "variant_explode", "variant_explode_outer"})


def base_table(resolved: ResolvedTable, feed: Feed) -> BuiltTable:
    """The base table that was declared, or a TableError."""
    declared = resolved.declared
    properties = declared.properties
    refuse_view_settings(declared, own=Maintenance.APPEND)
    if not feed.brings_files:
        raise TableError(
            f"The streaming table '{declared.name}' appends the files of a feed, but '{feed.name}' brings single rows.",
            way_out="Declare 'update_key', so that each row supersedes the one before it, or let it bring files.",
        )
    if properties.flow is not None and properties.update_group is not None:
        raise TableError(
            f"'{declared.name}' is loaded by a flow, so it cannot be in the update group '{properties.update_group}'.",
            way_out="Take it out of the group: a flow commits its targets by itself.",
        )
    refuse_a_time(declared, feed)
    as_fed: tuple[str, ...] = ()
    if isinstance(declared.query, FunctionQuery):
        # What a function does with the time column cannot be seen; it is checked when the rows come.
        time_column, columns = properties.time_column or feed.time.column, None
        if feed.time.column is None:
            time_column = None
    else:
        sources = dict.fromkeys(resolved.names, feed.column_names)
        as_fed = tuple(name for name in properties.partition_by if key_fault(declared.query, sources, name) is None)
        shape = row_wise_shape(declared, declared.query, resolved, feed)
        time_column = None if feed.time.column is None else passed_on(shape, declared, feed)
        columns = shape.columns
    if properties.flow is not None:
        # What comes out of a flow is known when Spark has looked at it.
        columns = None
    check_partition_columns(declared, columns)
    table = Table(
        name=declared.name,
        query=core_query(resolved),
        feed=feed.name,
        priority=properties.priority,
        target_lag=properties.target_lag,
        period=properties.period or feed.rhythm.period,
        time_column=time_column,
        maintain=Maintenance.APPEND,
        grain=INSTANT,
        linear=True,
        exact_time=True,
        partition_by=properties.partition_by,
        partitioned_as_fed=as_fed,
        row_for_row=_is_row_for_row(declared.query),
        update_group=properties.update_group,
        flow=properties.flow,
        is_reference=is_reference(declared, feed),
        is_replaced=feed.is_replaced,
        comment=properties.comment,
        maintenance_reason="the newest file of a feed is its content"
        if feed.is_replaced
        else "the rows of a feed are appended",
        origin=declared.origin,
    )
    return BuiltTable(table=table, columns=columns)


def is_reference(declared: DeclaredTable, feed: Feed) -> bool:
    """Whether a table of the feed is a reference table: declared as one, or because its rows have no time to go by."""
    if declared.properties.reference is False and feed.is_reference:
        why = "has no time column" if feed.time.column is None else "replaces its rows by those of its newest file"
        raise TableError(
            f"'{declared.name}' cannot but be a reference table: its feed '{feed.name}' {why}.",
            way_out="Take 'reference' out.",
        )
    return bool(declared.properties.reference) or feed.is_reference


def refuse_a_time(declared: DeclaredTable, feed: Feed) -> None:
    """Refuse what needs rows that have a time, or files that add up, of a feed without."""
    properties = declared.properties
    if feed.time.column is None and properties.time_column is not None:
        raise TableError(
            f"'{declared.name}' declares the time column '{properties.time_column}', and the rows of its feed "
            f"'{feed.name}' have no time.",
            way_out="Declare 'time_column' in the feed, or take it out here.",
        )
    for setting, said in (("flow", properties.flow), ("update_group", properties.update_group)):
        if feed.is_replaced and said is not None:
            raise TableError(
                f"'{declared.name}' cannot have '{setting}': its feed '{feed.name}' replaces its rows by those of its "
                "newest file.",
                way_out="Take it out, or declare `content: all` in the feed.",
            )


def refuse_view_settings(declared: DeclaredTable, *, own: Maintenance) -> None:
    """Refuse what is said of the way that views are maintained; `own` is the only way of this kind of table."""
    properties = declared.properties
    said = {
        "maintain": properties.maintain not in (None, own),
        "grain": properties.grain is not None,
        "lookback": properties.lookback is not None,
        "emit": properties.emit is not None,
    }
    for key, is_said in said.items():
        if is_said:
            raise TableError(
                f"'{key}' is for materialized views, and '{declared.name}' is a streaming table.",
                way_out="Take it out.",
            )


def row_wise_shape(declared: DeclaredTable, query: ParsedQuery, resolved: ResolvedTable, feed: Feed) -> Shape:
    """The shape of a query that makes at most one row of each row of the feed, or a TableError."""
    refuse_generators(declared, query)
    # Without a time any column will do to see whether rows stay apart: it is the same question.
    source = SourceShape(time_column=feed.time.column or feed.column_names[0], columns=feed.column_names)
    shape = shape_of(query, dict.fromkeys(resolved.names, source), time_column=declared.properties.time_column)
    if not shape.linear:
        raise TableError(
            f"The streaming table '{declared.name}' does not work row by row{_why(shape)}.",
            way_out="Load the rows as they are; grouping, DISTINCT, LIMIT and the like are for materialized views.",
        )
    return shape


def refuse_generators(declared: DeclaredTable, query: ParsedQuery) -> None:
    """Refuse functions that make several rows of one."""
    if generator := _generator(query.expression):
        raise TableError(
            f"The streaming table '{declared.name}' makes several rows of one with {generator}, "
            "but every row of a feed must be accounted for.",
            way_out=f"Load the rows as they are, and use {generator} in a materialized view.",
        )


def _is_row_for_row(query: ParsedQuery | FunctionQuery) -> bool:
    """Whether a query that works row by row has nothing that could leave a row out."""
    if isinstance(query, FunctionQuery) or query.pipes or query.expression.find(exp.SetOperation, exp.Join):
        return False
    selects = query.expression.find_all(exp.Select)
    return all({clause for clause, value in select.args.items() if value} <= _KEEPS_ROWS for select in selects)


def _why(shape: Shape) -> str:
    # The reason of a local shape says what was recognised, not what is missing.
    return "" if shape.local else f": {shape.reason}"


def passed_on(shape: Shape, declared: DeclaredTable, feed: Feed) -> str:
    """The output column that holds the time of the feed."""
    if shape.time_column is None or shape.grain != INSTANT or not shape.exact_time:
        raise TableError(
            f"The streaming table '{declared.name}' does not pass on the feed's time column '{feed.time.column}'.",
            way_out=f"Add {feed.time.column} to the SELECT as it is; it may be renamed with AS.",
        )
    return shape.time_column


def _generator(expression: exp.Expr) -> str | None:
    for node in expression.find_all(exp.Explode, exp.Inline, exp.Stack, exp.Lateral, exp.Anonymous):
        if isinstance(node, exp.Lateral):
            return "LATERAL VIEW"
        if not isinstance(node, exp.Anonymous):
            # sqlglot has classes for these: _ExplodeOuter is explode_outer.
            return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(node).__name__.lstrip("_")).lower()
        if node.name.lower() in _GENERATORS:
            return node.name.lower()
    return None
