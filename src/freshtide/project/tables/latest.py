"""Tables in which each row supersedes the one before it with the same key (Moga et al. 2009, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from freshtide.core.errors import suggestion
from freshtide.core.feeds import Feed
from freshtide.core.grains import INSTANT
from freshtide.core.latest import WINDOW_COLUMNS, KeyOrder, KeyWindows, LatestSemantics, WindowSemantics
from freshtide.core.tables import Maintenance, Table
from freshtide.project.declarations import DeclaredTable
from freshtide.project.tables.base import (
    is_reference,
    passed_on,
    refuse_generators,
    refuse_view_settings,
    row_wise_shape,
)
from freshtide.project.tables.derived import period_over, refuse_feed_settings, refuse_nondeterminism
from freshtide.project.tables.outputs import BuiltTable, TableError, core_query
from freshtide.project.tables.properties import Properties
from freshtide.project.tables.sources import ResolvedTable
from freshtide.sql import ParsedQuery, SourceShape, grouped_columns, key_fault, shape_of


def latest_table(resolved: ResolvedTable, feed: Feed) -> BuiltTable:
    """The update table of a feed's rows that was declared, or a TableError."""
    declared = resolved.declared
    properties = declared.properties
    refuse_view_settings(declared, own=Maintenance.LATEST)
    _refuse_company(declared)
    _demand_time(declared, feed)
    latest = LatestSemantics(
        key=_spelt(declared, feed.column_names, f"the feed '{feed.name}'"),
        order=properties.key_order or KeyOrder.LINECUTTING,
        windows=_windows(properties),
    )
    if latest.windows is not None:
        time_column, columns = _of_windows(resolved, feed, latest)
    else:
        time_column, columns = _of_rows(resolved, feed, latest)
    table = Table(
        name=declared.name,
        query=core_query(resolved),
        feed=feed.name,
        priority=properties.priority,
        target_lag=properties.target_lag,
        period=properties.period or feed.rhythm.period,
        time_column=time_column,
        maintain=Maintenance.LATEST,
        grain=INSTANT,
        is_reference=is_reference(declared, feed),
        latest=latest,
        comment=properties.comment,
        maintenance_reason=_reason(latest),
        origin=declared.origin,
    )
    return BuiltTable(table=table, columns=columns)


def latest_view(resolved: ResolvedTable, built: Mapping[str, BuiltTable]) -> BuiltTable:
    """The view with one row per key that was declared, or a TableError. Its sources are among those built."""
    declared = resolved.declared
    properties = declared.properties
    refuse_feed_settings(declared)
    refuse_view_settings(declared, own=Maintenance.LATEST)
    _refuse_company(declared)
    sources = {name: built[name] for name in resolved.sources}
    key = _shared_key(declared, sources)
    if isinstance(declared.query, ParsedQuery):
        refuse_nondeterminism(declared.name, declared.query)
        written = {written: sources[name] for written, name in resolved.names.items()}
        _demand_key(declared, declared.query, {name: source.columns for name, source in written.items()}, key)
        time_column, columns = _time_of_view(declared, declared.query, written)
    else:
        # What a function does cannot be seen; it is checked when the rows come.
        time_column, columns = _time_of_function(declared, sources), None
    references = tuple(name for name, source in sources.items() if source.table.is_reference)
    latest = LatestSemantics(key=key)
    table = Table(
        name=declared.name,
        query=core_query(resolved),
        sources=resolved.sources,
        priority=properties.priority,
        target_lag=properties.target_lag,
        period=properties.period or period_over(source.table for source in sources.values()),
        time_column=time_column,
        maintain=Maintenance.LATEST,
        grain=INSTANT,
        is_reference=properties.reference or len(references) == len(sources),
        reference_sources=references,
        latest=latest,
        comment=properties.comment,
        maintenance_reason=_reason(latest),
        origin=declared.origin,
    )
    return BuiltTable(table=table, columns=columns)


def _demand_time(declared: DeclaredTable, feed: Feed) -> None:
    if feed.is_reference:
        why = "have no time" if feed.time.column is None else "are replaced by those of its newest file"
        raise TableError(
            f"'{declared.name}' keeps the newest row of each key, and the rows of '{feed.name}' {why}.",
            way_out="Take 'update_key' out and declare `content: newest` in the feed, whose newest file is then all "
            "that there is; or declare the 'time_column' that tells which row is the newer one.",
        )


def _windows(properties: Properties) -> KeyWindows | None:
    if properties.window is None:
        return None
    return KeyWindows(
        size=properties.window,
        slide=properties.slide or properties.window,
        semantics=properties.windows or WindowSemantics.LAZY,
    )


def _reason(latest: LatestSemantics) -> str:
    held = "a row per window" if latest.windows is not None else "the newest row"
    return f"{held} of each {', '.join(latest.key)} is kept"


def _refuse_company(declared: DeclaredTable) -> None:
    properties = declared.properties
    said = {
        "flow": (properties.flow is not None, "a flow takes every row"),
        "update_group": (properties.update_group is not None, "the tables of a group load the same rows together"),
        "partition_by": (bool(properties.partition_by), "its rows are replaced by key"),
    }
    for key, (is_said, why) in said.items():
        if is_said:
            raise TableError(
                f"'{declared.name}' cannot have both 'update_key' and '{key}': {why}.",
                way_out="Take one of them out.",
            )


def _spelt(declared: DeclaredTable, columns: Iterable[str], holder: str) -> tuple[str, ...]:
    """The key in the spelling of the columns that it is of."""
    by_name = {column.lower(): column for column in columns}
    for column in declared.properties.update_key:
        if column.lower() not in by_name:
            raise TableError(
                f"The update key '{column}' of '{declared.name}' is no column of {holder}.",
                way_out=suggestion(column, by_name.values()),
            )
    return tuple(by_name[column.lower()] for column in declared.properties.update_key)


def _of_rows(resolved: ResolvedTable, feed: Feed, latest: LatestSemantics) -> tuple[str, tuple[str, ...] | None]:
    declared = resolved.declared
    if not isinstance(declared.query, ParsedQuery):
        return declared.properties.time_column or feed.time.known_column, None
    shape = row_wise_shape(declared, declared.query, resolved, feed)
    time_column = passed_on(shape, declared, feed)
    _demand_key(declared, declared.query, dict.fromkeys(resolved.names, feed.column_names), latest.key)
    return time_column, shape.columns


def _of_windows(resolved: ResolvedTable, feed: Feed, latest: LatestSemantics) -> tuple[str, tuple[str, ...] | None]:
    declared, (_, end) = resolved.declared, WINDOW_COLUMNS
    if declared.properties.time_column not in (None, end):
        raise TableError(
            f"The time column of '{declared.name}' is {end}: a row of it stands for a window.",
            way_out="Take 'time_column' out.",
        )
    for column in feed.column_names:
        if column.lower() in WINDOW_COLUMNS:
            raise TableError(
                f"The feed '{feed.name}' has a column '{column}', and with 'window' Freshtide adds one of that name.",
                way_out="Rename it in the schema of the feed.",
            )
    if not isinstance(declared.query, ParsedQuery):
        return end, None
    refuse_generators(declared, declared.query)
    wanted = (*latest.key, *WINDOW_COLUMNS)
    if sorted(grouped_columns(declared.query) or ()) != sorted(column.lower() for column in wanted):
        raise TableError(
            f"'{declared.name}' puts out one row per key and window, so its query must group by just these.",
            way_out=f"Write GROUP BY {', '.join(wanted)}.",
        )
    columns = (*feed.column_names, *WINDOW_COLUMNS)
    _demand_key(declared, declared.query, dict.fromkeys(resolved.names, columns), wanted)
    source = SourceShape(time_column=end, columns=columns)
    return end, shape_of(declared.query, dict.fromkeys(resolved.names, source)).columns


def _demand_key(
    declared: DeclaredTable,
    query: ParsedQuery,
    sources: Mapping[str, tuple[str, ...] | None],
    key: tuple[str, ...],
) -> None:
    for column in key:
        fault = key_fault(query, sources, column)
        if fault is not None:
            raise TableError(
                f"The {declared.kind} '{declared.name}' does not keep its key '{column}': {fault}.",
                way_out=f"Select {column} as it is, and group and join by it.",
            )


def _shared_key(declared: DeclaredTable, sources: Mapping[str, BuiltTable]) -> tuple[str, ...]:
    """The key of the view, of columns that are in the keys of all its sources: else a row could change its key."""
    spelt: tuple[str, ...] = ()
    for name, source in sources.items():
        latest = source.table.latest
        if latest is None:
            raise TableError(
                f"'{declared.name}' has an 'update_key', but its source '{name}' is no update table.",
                way_out=f"Take 'update_key' out, or declare it on '{name}' too.",
            )
        found = _spelt(declared, latest.key, f"the update key of '{name}'")
        spelt = spelt or found
    return spelt


def _time_of_view(
    declared: DeclaredTable, query: ParsedQuery, sources: Mapping[str, BuiltTable]
) -> tuple[str, tuple[str, ...] | None]:
    """The output column that tells which of two rows of a key is the younger one."""
    shapes = {
        name: SourceShape(time_column=source.table.time_column, columns=source.columns)
        for name, source in sources.items()
    }
    shape = shape_of(query, shapes, time_column=declared.properties.time_column)
    if shape.time_column is None:
        raise TableError(
            f"It cannot be told which row of a key in '{declared.name}' is the youngest: {shape.reason}.",
            way_out="Select the time column of a source, or greatest() of several, or declare 'time_column'.",
        )
    return shape.time_column, shape.columns


def _time_of_function(declared: DeclaredTable, sources: Mapping[str, BuiltTable]) -> str:
    time_columns = {source.table.time_column for source in sources.values()}
    time_column = declared.properties.time_column or (time_columns.pop() if len(time_columns) == 1 else None)
    if time_column is None:
        raise TableError(
            f"It cannot be told which row of a key in '{declared.name}' is the youngest: "
            "the time columns of its sources have different names.",
            way_out="Declare 'time_column'.",
        )
    return time_column
