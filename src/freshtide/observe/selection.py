"""Choosing tables by name: `sales`, `cpu_*`, `+report` (with its ancestors), `orders+` (with its dependents)."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from freshtide.core.errors import UnknownTableError
from freshtide.core.graph import TableGraph


def select_tables(graph: TableGraph, patterns: Iterable[str]) -> tuple[str, ...]:
    """The tables that match any of the patterns, in whatever case, sources first; all of them without a pattern."""
    wanted = [part.strip() for pattern in patterns for part in pattern.split(",") if part.strip()]
    if not wanted:
        return tuple(graph)
    chosen: set[str] = set()
    for pattern in wanted:
        name = pattern.removeprefix("+").removesuffix("+")
        matches = [table for table in graph if fnmatchcase(table.lower(), name.lower())]
        if not matches:
            raise UnknownTableError(name, known=graph)
        for table in matches:
            chosen.add(table)
            if pattern.startswith("+"):
                chosen.update(graph.ancestors(table))
            if pattern.endswith("+"):
                chosen.update(graph.dependents(table))
    return tuple(table for table in graph if table in chosen)
