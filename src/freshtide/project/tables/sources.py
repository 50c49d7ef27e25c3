"""What tables read: looks the names in their queries up, and says what is wrong where one is not right."""

from __future__ import annotations

import graphlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from freshtide.core.errors import Origin, Problem, suggestion
from freshtide.core.graph import CycleError
from freshtide.core.tables import FunctionQuery
from freshtide.project.declarations import Declarations, DeclaredTable
from freshtide.sql import TableKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTable:
    """A table whose sources all exist."""

    declared: DeclaredTable
    names: Mapping[str, str]
    """From each source as the query spells it to its name."""

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.names.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """A place in a query that names a source."""

    name: str
    streamed: bool
    origin: Origin | None


def resolve_sources(declarations: Declarations) -> tuple[list[ResolvedTable], list[Problem]]:
    """The tables that can be built, sources first, and what is wrong with the others."""
    problems: list[Problem] = []
    resolved: dict[str, ResolvedTable] = {}
    for declared in declarations.tables.values():
        found = list(_faults(declared, declarations))
        problems += found
        names = _names(declared, declarations)
        if not found and names is not None:
            resolved[declared.name] = ResolvedTable(declared=declared, names=names)
    return _sources_first(resolved, problems), problems


def _names(declared: DeclaredTable, declarations: Declarations) -> dict[str, str] | None:
    """None where a source is declared but wrong: then nothing can be said about this table either."""
    names: dict[str, str] = {}
    for mention in _mentions(declared):
        key = mention.name.lower()
        source = declarations.feeds.get(key) or declarations.tables.get(key) or declarations.made.get(key)
        if source is None:
            return None
        names[mention.name] = source.name
    return names


def _mentions(declared: DeclaredTable) -> list[_Mention]:
    query = declared.query
    if isinstance(query, FunctionQuery):
        return [_Mention(name=name, streamed=True, origin=declared.origin) for name in query.parameters.values()]
    return [
        _Mention(
            name=reference.source,
            streamed=reference.source in query.streams,
            origin=_origin(declared, query.first_line + query.text.count("\n", 0, reference.start)),
        )
        for reference in query.references
    ]


def _origin(declared: DeclaredTable, line: int) -> Origin | None:
    return Origin(file=declared.origin.file, line=line) if declared.origin else None


def _faults(declared: DeclaredTable, declarations: Declarations) -> Iterator[Problem]:
    mentions = _mentions(declared)
    is_base = declared.kind is TableKind.STREAMING_TABLE
    if not mentions:
        yield Problem(
            message=f"The {declared.kind} '{declared.name}' reads nothing.",
            origin=declared.origin,
            way_out="Write FROM STREAM and a feed." if is_base else "Write FROM and a table.",
        )
    seen: set[str] = set()
    for mention in mentions:
        key = mention.name.lower()
        if is_base and seen:
            yield Problem(
                message=f"The streaming table '{declared.name}' reads more than one feed, or one more than once.",
                origin=mention.origin,
                way_out="Make a streaming table of each feed, and join them in a materialized view.",
            )
            return
        seen.add(key)
        fault = (_base_fault if is_base else _view_fault)(declared, mention, declarations)
        if fault is not None and key not in declarations.spoiled:
            yield Problem(message=fault[0], origin=mention.origin, way_out=fault[1])


def _base_fault(declared: DeclaredTable, mention: _Mention, declarations: Declarations) -> tuple[str, str] | None:
    key = mention.name.lower()
    if key in declarations.feeds:
        if mention.streamed:
            return None
        return (
            f"The streaming table '{declared.name}' reads the feed '{mention.name}' without STREAM.",
            f"Write FROM STREAM {mention.name}.",
        )
    if key in declarations.tables or key in declarations.made:
        kind = declarations.tables[key].kind if key in declarations.tables else "table of a flow"
        return (
            f"The streaming table '{declared.name}' reads the {kind} '{mention.name}', but streaming tables read "
            "feeds.",
            f"Make '{declared.name}' a materialized view.",
        )
    known = (feed.name for feed in declarations.feeds.values())
    return f"There is no feed '{mention.name}'.", suggestion(mention.name, known)


def _view_fault(declared: DeclaredTable, mention: _Mention, declarations: Declarations) -> tuple[str, str] | None:
    key = mention.name.lower()
    if key in declarations.feeds:
        return (
            f"The materialized view '{declared.name}' reads the feed '{mention.name}' directly.",
            "Make a streaming table of it first, and read that: "
            f"CREATE STREAMING TABLE name AS SELECT * FROM STREAM {mention.name}.",
        )
    if key not in declarations.tables and key not in declarations.made:
        # Nobody means the view itself.
        known = [each.name for each in declarations.tables.values() if each is not declared]
        known += [each.name for each in declarations.made.values()]
        return f"There is no table '{mention.name}'.", suggestion(mention.name, known)
    if mention.streamed and not isinstance(declared.query, FunctionQuery):
        return (
            f"The materialized view '{declared.name}' reads '{mention.name}' with STREAM, which is for feeds.",
            "Take STREAM out.",
        )
    return None


def _sources_first(resolved: dict[str, ResolvedTable], problems: list[Problem]) -> list[ResolvedTable]:
    """An order in which sources come first; circles become problems and drop out."""
    while True:
        sources = {name: [source for source in table.sources if source in resolved] for name, table in resolved.items()}
        try:
            return [resolved[name] for name in graphlib.TopologicalSorter(sources).static_order()]
        except graphlib.CycleError as error:
            circle: list[str] = error.args[1][:-1]
            first = min(range(len(circle)), key=lambda at: _place(resolved[circle[at]].declared))
            told = CycleError((*circle[first:], *circle[:first]))
            origin = resolved[told.cycle[0]].declared.origin
            problems.append(Problem(message=told.message, origin=origin, way_out=told.way_out))
            for name in circle:
                del resolved[name]


def _place(declared: DeclaredTable) -> tuple[str, int, str]:
    origin = declared.origin
    return (origin.file if origin else "", origin.line if origin else 0, declared.name)
