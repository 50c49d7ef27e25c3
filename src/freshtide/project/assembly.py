"""Declarations to a project: every name looked up, every table with its way of being maintained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from freshtide.core.errors import Origin, Problem, ProjectError
from freshtide.core.feeds import Feed
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Maintenance, Table
from freshtide.flows import FlowGraph
from freshtide.project.declarations import Declarations
from freshtide.project.feeds.streamfeed import shared_addresses
from freshtide.project.flows.loads import flow_load_problems, flows_that_load
from freshtide.project.flows.made import made_tables
from freshtide.project.flows.tables import flow_table_problems
from freshtide.project.settings.adaptive import unknown_tables
from freshtide.project.settings.settings import Settings
from freshtide.project.tables.base import base_table
from freshtide.project.tables.derived import derived_table
from freshtide.project.tables.groups import group_problems
from freshtide.project.tables.latest import latest_table, latest_view
from freshtide.project.tables.outputs import BuiltTable, TableError
from freshtide.project.tables.sources import ResolvedTable, resolve_sources
from freshtide.project.tables.targets import hopeless_targets, short_targets, slow_joins
from freshtide.sql import TableKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project that can run."""

    root: Path
    settings: Settings
    feeds: Mapping[str, Feed]
    graph: TableGraph
    flows: Mapping[str, FlowGraph] = field(default_factory=dict)
    notes: tuple[Problem, ...] = ()
    """What is not wrong but worth knowing."""


def assemble(declarations: Declarations, settings: Settings, root: Path) -> Project:
    """The project that was declared, or a ProjectError with everything that is wrong with it."""
    declarations.made = made_tables(declarations)
    resolved, problems = resolve_sources(declarations)
    problems += declarations.problems
    if not declarations.tables and not declarations.flows and not problems:
        problems.append(_NO_TABLES)
    built = {table.name: BuiltTable(table=table, columns=None) for table in declarations.made.values()}
    for table in resolved:
        # Where a source has a problem of its own, that one is enough.
        if all(source in built for source in _table_sources(table)):
            try:
                built[table.declared.name] = _built(table, declarations, built)
            except TableError as error:
                origin = table.declared.origin
                problems.append(Problem(message=error.message, origin=origin, way_out=error.way_out))
    tables = {name: table.table for name, table in built.items() if table.table.made_by is None}
    made = {table.name: table for table in declarations.made.values()}
    problems += group_problems({**made, **tables}, declarations.feeds.values())
    problems += hopeless_targets(tables, declarations.feeds)
    problems += shared_addresses(declarations.feeds.values())
    flows = tuple(declarations.flows.values())
    loads = flows_that_load(declarations)
    problems += flow_table_problems(flows, declarations.tables, loads=loads, spoiled=declarations.spoiled)
    problems += flow_load_problems(declarations, tables)
    problems += unknown_tables(settings.policy, _scheduled(declarations, tables), settings.place)
    if problems:
        raise ProjectError(_in_order(problems))
    return Project(
        root=root,
        settings=settings,
        feeds={feed.name: feed for feed in declarations.feeds.values()},
        graph=TableGraph([*(_with_flow(table, declarations) for table in tables.values()), *made.values()]),
        flows={flow.name: flow for flow in flows},
        notes=_in_order(_notes(declarations, tables)),
    )


def _with_flow(table: Table, declarations: Declarations) -> Table:
    """The table with its flow under the name that it was declared with."""
    return table if table.flow is None else replace(table, flow=declarations.flows[table.flow.lower()].name)


_NO_TABLES = Problem(
    message="The project declares no tables.",
    origin=Origin(file="freshtide.yml"),
    way_out="Write CREATE STREAMING TABLE name AS SELECT * FROM STREAM feed into a file in tables/.",
)


def _scheduled(declarations: Declarations, tables: Mapping[str, Table]) -> list[str]:
    """The names that the scheduler goes by, those of tables with problems of their own included."""
    broken = [declared.name for declared in declarations.tables.values() if declared.name not in tables]
    return [*dict.fromkeys(table.update_group or table.name for table in tables.values()), *broken]


def _table_sources(table: ResolvedTable) -> tuple[str, ...]:
    return () if table.declared.kind is TableKind.STREAMING_TABLE else table.sources


def _built(table: ResolvedTable, declarations: Declarations, built: Mapping[str, BuiltTable]) -> BuiltTable:
    keeps_latest = bool(table.declared.properties.update_key)
    if table.declared.kind is TableKind.STREAMING_TABLE:
        (feed,) = table.sources
        return (latest_table if keeps_latest else base_table)(table, declarations.feeds[feed.lower()])
    return (latest_view if keeps_latest else derived_table)(table, built)


def _notes(declarations: Declarations, tables: Mapping[str, Table]) -> Iterator[Problem]:
    read = {table.feed for table in tables.values()}
    for feed in declarations.feeds.values():
        if feed.name not in read:
            yield Problem(
                message=f"No table reads the feed '{feed.name}', so its {_content(feed)} are not loaded.",
                origin=feed.origin,
                way_out=f"Write CREATE STREAMING TABLE name {_needed(feed)}AS SELECT * FROM STREAM {feed.name}.",
            )
    yield from _untimed(declarations, tables)
    for table in tables.values():
        asked = declarations.tables[table.name.lower()].properties.maintain
        if table.maintain is Maintenance.FULL and asked is None:
            so = "or from changes, whichever takes less time" if table.may_follow else "at each update"
            yield Problem(
                message=f"'{table.name}' is computed in full {so}: {table.maintenance_reason}.",
                origin=table.origin,
                way_out="Say maintain = 'full' or maintain = 'incremental' if it is to be one of them.",
            )
    yield from short_targets(tables, declarations.feeds)
    yield from slow_joins(tables)


def _untimed(declarations: Declarations, tables: Mapping[str, Table]) -> Iterator[Problem]:
    """Tables that are reference tables because of what a feed does not say, and may have been meant to go by time."""
    for table in tables.values():
        feed = None if table.feed is None else declarations.feeds[table.feed.lower()]
        is_said = declarations.tables[table.name.lower()].properties.reference is not None
        if feed is None or feed.time.column is not None or feed.is_replaced or is_said:
            continue
        time = next((column.name for column in feed.schema if column.type.startswith(("timestamp", "date"))), None)
        if time is not None:
            yield Problem(
                message=f"'{table.name}' is a reference table, since the feed '{feed.name}' names no 'time_column': "
                "views take it as it is, and do not wait for it.",
                origin=feed.origin,
                way_out=f"If it goes by '{time}', declare `time_column: {time}`. If not, declare 'reference' = 'true' "
                f"on '{table.name}'.",
            )


def _content(feed: Feed) -> str:
    return "files" if feed.brings_files else "rows"


def _needed(feed: Feed) -> str:
    """What a table of the feed has to say beside its query."""
    return "" if feed.brings_files else "TBLPROPERTIES ('update_key' = '...') "


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    def place(problem: Problem) -> tuple[str, int, str]:
        origin = problem.origin
        return (origin.file if origin else "", origin.line if origin else 0, problem.message)

    return tuple(sorted(problems, key=place))
