"""Feeds and tables in Python: what the files of tables/*.py use.

A decorated function takes DataFrames, one per source, and returns a DataFrame. It stays what it was, so it
can be called in a test. What is declared goes to the collector of the project that is being loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

from freshtide.core.errors import FreshtideError, Origin, Problem
from freshtide.project.declarations import Declarations, DeclaredTable
from freshtide.project.feeds.feedfile import read_feed
from freshtide.project.notation.names import relative_name
from freshtide.project.tables.functions import Sources, SourcesError, function_query
from freshtide.project.tables.properties import read_properties
from freshtide.sql import TableKind

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
DurationText = str | int | float


class NoProjectError(FreshtideError):
    """A decorator was used while no project was being loaded."""

    def __init__(self, used: str) -> None:
        super().__init__(
            f"{used} was used outside of a project.",
            way_out="Put it into a file in the folder tables/ of a project; in a script, use freshtide.Warehouse.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collector:
    declarations: Declarations
    root: Path

    def origin(self, file: str, line: int) -> Origin:
        return Origin(file=relative_name(Path(file), self.root), line=line)


_collector: ContextVar[_Collector | None] = ContextVar("collector", default=None)


@contextmanager
def collecting(declarations: Declarations, root: Path) -> Iterator[None]:
    """Let the decorators declare into `declarations` within this block."""
    token = _collector.set(_Collector(declarations=declarations, root=root))
    try:
        yield
    finally:
        _collector.reset(token)


def feed(name: str, **settings: Any) -> None:
    """Declare a feed, with the settings that a file in feeds/ has: path, format, schema, time_column, ..."""
    collector = _active("feed()")
    caller = inspect.stack(context=0)[1]
    origin = collector.origin(caller.filename, caller.lineno)
    declared, problems = read_feed({"name": name, **settings}, lambda _: origin)
    if declared is None:
        collector.declarations.reject(problems, names=[name])
    else:
        collector.declarations.add_feed(declared)


@overload
def table(function: FunctionT, /) -> FunctionT: ...


@overload
def table(
    *,
    feed: str | None = ...,
    name: str | None = ...,
    priority: float | None = ...,
    target_lag: DurationText | None = ...,
    period: DurationText | None = ...,
    time_column: str | None = ...,
    partition_by: str | Sequence[str] | None = ...,
    update_group: str | None = ...,
    flow: str | None = ...,
    reference: bool | None = ...,
    update_key: str | Sequence[str] | None = ...,
    key_order: str | None = ...,
    window: DurationText | None = ...,
    slide: DurationText | None = ...,
    windows: str | None = ...,
    comment: str | None = ...,
) -> Callable[[FunctionT], FunctionT]: ...


def table(
    function: FunctionT | None = None,
    /,
    *,
    feed: str | None = None,
    name: str | None = None,
    priority: float | None = None,
    target_lag: DurationText | None = None,
    period: DurationText | None = None,
    time_column: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    update_group: str | None = None,
    flow: str | None = None,
    reference: bool | None = None,
    update_key: str | Sequence[str] | None = None,
    key_order: str | None = None,
    window: DurationText | None = None,
    slide: DurationText | None = None,
    windows: str | None = None,
    comment: str | None = None,
) -> FunctionT | Callable[[FunctionT], FunctionT]:
    """Make a base table of a function from the rows of a feed, which are its only parameter.

    Without `feed` the parameter is called like the feed. The function works row by row. With `window` it works on
    the rows of windows instead.
    """
    collector = _active("@table")
    settings = {
        "priority": priority,
        "target_lag": target_lag,
        "period": period,
        "time_column": time_column,
        "partition_by": partition_by,
        "update_group": update_group,
        "flow": flow,
        "reference": reference,
        "update_key": update_key,
        "key_order": key_order,
        "window": window,
        "slide": slide,
        "windows": windows,
        "comment": comment,
    }

    def declare(function: FunctionT) -> FunctionT:
        sources = None if feed is None else [feed]
        _declare(collector, TableKind.STREAMING_TABLE, function, name=name, sources=sources, settings=settings)
        return function

    return declare if function is None else declare(function)


@overload
def materialized_view(function: FunctionT, /) -> FunctionT: ...


@overload
def materialized_view(
    *,
    name: str | None = ...,
    sources: Sources | None = ...,
    priority: float | None = ...,
    target_lag: DurationText | None = ...,
    period: DurationText | None = ...,
    maintain: str | None = ...,
    time_column: str | None = ...,
    grain: DurationText | None = ...,
    lookback: DurationText | None = ...,
    emit: str | None = ...,
    partition_by: str | Sequence[str] | None = ...,
    update_group: str | None = ...,
    reference: bool | None = ...,
    update_key: str | Sequence[str] | None = ...,
    comment: str | None = ...,
) -> Callable[[FunctionT], FunctionT]: ...


def materialized_view(
    function: FunctionT | None = None,
    /,
    *,
    name: str | None = None,
    sources: Sources | None = None,
    priority: float | None = None,
    target_lag: DurationText | None = None,
    period: DurationText | None = None,
    maintain: str | None = None,
    time_column: str | None = None,
    grain: DurationText | None = None,
    lookback: DurationText | None = None,
    emit: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    update_group: str | None = None,
    reference: bool | None = None,
    update_key: str | Sequence[str] | None = None,
    comment: str | None = None,
) -> FunctionT | Callable[[FunctionT], FunctionT]:
    """Make a derived table of a function from the tables that its parameters are called after."""
    collector = _active("@materialized_view")
    settings = {
        "priority": priority,
        "target_lag": target_lag,
        "period": period,
        "maintain": maintain,
        "time_column": time_column,
        "grain": grain,
        "lookback": lookback,
        "emit": emit,
        "partition_by": partition_by,
        "update_group": update_group,
        "reference": reference,
        "update_key": update_key,
        "comment": comment,
    }

    def declare(function: FunctionT) -> FunctionT:
        _declare(collector, TableKind.MATERIALIZED_VIEW, function, name=name, sources=sources, settings=settings)
        return function

    return declare if function is None else declare(function)


def declared_function(
    kind: TableKind,
    function: Callable[..., Any],
    *,
    name: str | None,
    sources: Sources | None,
    settings: Mapping[str, object],
    origin: Origin,
) -> tuple[DeclaredTable | None, list[Problem]]:
    """A function as a table, or None and everything that is wrong with it. A setting of None is not said."""
    said = {key: value for key, value in settings.items() if value is not None}
    properties, problems = read_properties(said, lambda _: origin)
    try:
        query = function_query(function, sources)
    except SourcesError as error:
        return None, [*problems, Problem(message=error.message, origin=origin, way_out=error.way_out)]
    if properties is None:
        return None, problems
    return (
        DeclaredTable(name=name or function.__name__, kind=kind, query=query, properties=properties, origin=origin),
        [],
    )


def _declare(
    collector: _Collector,
    kind: TableKind,
    function: Callable[..., Any],
    *,
    name: str | None,
    sources: Sources | None,
    settings: Mapping[str, object],
) -> None:
    code = inspect.unwrap(function).__code__
    origin = collector.origin(code.co_filename, code.co_firstlineno)
    declared, problems = declared_function(kind, function, name=name, sources=sources, settings=settings, origin=origin)
    if declared is None:
        collector.declarations.reject(problems, names=[name or function.__name__])
    else:
        collector.declarations.add_table(declared)


def _active(used: str) -> _Collector:
    collector = _collector.get()
    if collector is None:
        raise NoProjectError(used)
    return collector
