"""Derived tables: how a view is maintained follows from its query and its sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from freshtide.core.cuts import Cuts
from freshtide.core.tables import Emit, FunctionQuery, Maintenance, Table
from freshtide.project.declarations import DeclaredTable
from freshtide.project.tables.maintenance import (
    MaintenanceError,
    MaintenancePlan,
    SourceFacts,
    opaque_shape,
    plan_maintenance,
)
from freshtide.project.tables.outputs import BuiltTable, TableError, check_partition_columns, core_query
from freshtide.project.tables.sources import ResolvedTable
from freshtide.sql import ParsedQuery, Shape, SourceShape, nondeterministic_functions, shape_of

_NEVER_FINAL = (Maintenance.FULL, Maintenance.INCREMENTAL, Maintenance.LATEST)


def derived_table(resolved: ResolvedTable, built: Mapping[str, BuiltTable]) -> BuiltTable:
    """The derived table that was declared, or a TableError. Its sources are among those built."""
    declared = resolved.declared
    properties = declared.properties
    refuse_feed_settings(declared)
    if isinstance(declared.query, ParsedQuery):
        refuse_nondeterminism(declared.name, declared.query)
    tables = {name: other.table for name, other in built.items()}
    shape = _shape(resolved, built)
    check_partition_columns(declared, shape.columns)
    plan = _plan(shape, resolved, tables)
    references = tuple(source for source in resolved.sources if tables[source].is_reference)
    is_timeless = len(references) == len(resolved.sources)
    if is_timeless and properties.reference is False:
        raise TableError(
            f"'{declared.name}' cannot but be a reference table: all tables that it reads are.",
            way_out="Take 'reference' out.",
        )
    table = Table(
        name=declared.name,
        query=core_query(resolved),
        sources=resolved.sources,
        priority=properties.priority,
        target_lag=properties.target_lag,
        period=properties.period or period_over(tables[source] for source in resolved.sources),
        time_column=plan.time_column,
        maintain=plan.maintain,
        grain=plan.grain,
        lookback=properties.lookback,
        emit=properties.emit or Emit.ALL,
        linear=plan.linear,
        exact_time=plan.exact_time,
        partition_by=properties.partition_by,
        update_group=properties.update_group,
        is_reference=properties.reference or is_timeless,
        reference_sources=references,
        comment=properties.comment,
        maintenance_reason=plan.reason,
        # Of a Python function nobody can tell whether it looks at rows when it is called.
        may_follow=plan.maintain is Maintenance.FULL
        and properties.maintain is None
        and isinstance(declared.query, ParsedQuery),
        origin=declared.origin,
    )
    return BuiltTable(table=table, columns=shape.columns)


def period_over(sources: Iterable[Table]) -> float | None:
    """How often a view can move on: as often as the slowest of its sources, but for those that it does not wait for."""
    tables = list(sources)
    timed = [table for table in tables if not table.is_reference] or tables
    return max((table.period for table in timed if table.period is not None), default=None)


def refuse_feed_settings(declared: DeclaredTable) -> None:
    """Refuse what is said of the way that the rows of a feed go."""
    properties = declared.properties
    said = {"flow": properties.flow, "key_order": properties.key_order, "window": properties.window}
    for key, value in said.items():
        if value is not None:
            raise TableError(
                f"'{key}' is for streaming tables, and '{declared.name}' is a materialized view.",
                way_out="Take it out.",
            )


def refuse_nondeterminism(name: str, query: ParsedQuery) -> None:
    """Refuse functions whose result changes without the sources changing."""
    for function in nondeterministic_functions(query.expression):
        raise TableError(
            f"The materialized view '{name}' uses {function}(): its result would change without its sources changing.",
            way_out="Use a column instead; a streaming table may use it, once for each row that arrives.",
        )


def _plan(shape: Shape, resolved: ResolvedTable, tables: Mapping[str, Table]) -> MaintenancePlan:
    declared = resolved.declared
    properties = declared.properties
    cuts = Cuts(tables)
    facts = {
        source: SourceFacts(
            appends_only=cuts.appends_only(source),
            revisable_forever=tables[source].maintain in _NEVER_FINAL,
            keeps_latest=tables[source].is_latest,
        )
        for source in resolved.sources
        if not tables[source].is_reference
    }
    try:
        return plan_maintenance(
            shape,
            name=declared.name,
            sources=facts,
            requested=properties.maintain,
            lookback=properties.lookback,
            emit=properties.emit or Emit.ALL,
            declared_grain=properties.grain,
            trusted=isinstance(declared.query, FunctionQuery),
        )
    except MaintenanceError as error:
        raise TableError(error.message, way_out=error.way_out) from error


def _shape(resolved: ResolvedTable, built: Mapping[str, BuiltTable]) -> Shape:
    declared = resolved.declared
    properties = declared.properties
    if isinstance(declared.query, FunctionQuery):
        return opaque_shape(properties.time_column, properties.grain)
    sources = {written: _source_shape(built[name]) for written, name in resolved.names.items()}
    return shape_of(declared.query, sources, time_column=properties.time_column)


def _source_shape(source: BuiltTable) -> SourceShape:
    table = source.table
    if table.is_reference:
        return SourceShape(time_column=None, columns=source.columns, is_reference=True)
    if table.grain is None:
        # A time column of unknown grain was taken on trust: nothing can be concluded from it.
        return SourceShape(time_column=None, columns=source.columns)
    return SourceShape(time_column=table.time_column, grain=table.grain, columns=source.columns)
