"""The dependency graph of tables."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from freshtide.core.errors import FreshtideError, UnknownTableError
from freshtide.core.tables import Table
from freshtide.core.units import UpdateUnits


class CycleError(FreshtideError):
    """Tables that are, in a circle, sources of each other."""

    def __init__(self, cycle: tuple[str, ...]) -> None:
        self.cycle = cycle
        super().__init__(
            f"These tables depend on each other in a circle: {' -> '.join((*cycle, cycle[0]))}.",
            way_out="Take one of them out of the others' queries.",
        )


class TableGraph(Mapping[str, Table]):
    """Tables by name, in an order in which sources come before their dependents."""

    def __init__(self, tables: Iterable[Table]) -> None:
        by_name = {table.name: table for table in tables}
        for table in by_name.values():
            for source in table.sources:
                if source not in by_name:
                    raise UnknownTableError(source, known=by_name)
        self._tables = {name: by_name[name] for name in _sources_first(by_name)}

    def __getitem__(self, name: str) -> Table:
        try:
            return self._tables[name]
        except KeyError:
            raise UnknownTableError(name, known=self._tables) from None

    def called(self, name: str) -> Table:
        """The table that a user calls so: names do not tell upper from lower case."""
        return self[self._as_declared.get(name.lower(), name)]

    @cached_property
    def _as_declared(self) -> dict[str, str]:
        return {name.lower(): name for name in self._tables}

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    @cached_property
    def units(self) -> UpdateUnits:
        """The tables as they are updated: by themselves or in groups."""
        return UpdateUnits(self._tables)

    def dependents(self, name: str) -> tuple[str, ...]:
        """All that is directly or indirectly sourced from the table, sources first."""
        reached = {self[name].name}
        for table in self._tables.values():
            if reached.intersection(table.sources):
                reached.add(table.name)
        return tuple(other for other in self._tables if other in reached and other != name)

    def ancestors(self, name: str) -> tuple[str, ...]:
        """All that directly or indirectly serves as a source of the table, sources first."""
        wanted = set(self[name].sources)
        for other in reversed(self._tables):
            if other in wanted:
                wanted.update(self._tables[other].sources)
        return tuple(other for other in self._tables if other in wanted)

    def for_feed(self, feed: str) -> tuple[Table, ...]:
        return tuple(table for table in self._tables.values() if table.feed == feed)

    def made_by(self, flow: str | None) -> tuple[Table, ...]:
        """The tables that a flow makes, beside the one that it may load."""
        return () if flow is None else tuple(table for table in self._tables.values() if table.made_by == flow)

    def readers(self, feed: str) -> tuple[str, ...]:
        """The names of the tables that load what a feed brings."""
        return tuple(table.name for table in self.for_feed(feed))

    def is_update_stream(self, name: str) -> bool:
        """Whether rows of the table, or of one whose time it goes by, are superseded by newer ones of the same key."""
        return self[name].name in self._update_streams

    @cached_property
    def _update_streams(self) -> set[str]:
        found: set[str] = set()
        for table in self._tables.values():
            if table.is_latest or not found.isdisjoint(table.timed_sources):
                found.add(table.name)
        return found

    def is_stale_by_waiting(self, name: str) -> bool:
        """Whether a table is as stale as its oldest pending change has waited, and not as its data is old."""
        return self.is_update_stream(name) or not self[name].has_time

    def contents_of(self, name: str) -> tuple[str, ...]:
        """The reference tables whose content the table is computed with, read by itself or by views below it.

        What is read as it is, is what its own commits say that it is: of that nothing is asked here.
        """
        return self._contents[self[name].name]

    @cached_property
    def _contents(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for table in self._tables.values():
            names: dict[str, None] = {}
            for source in (self._tables[name] for name in table.sources):
                if source.is_reference and source.has_own_content:
                    names[source.name] = None
                elif source.is_reference or not self.is_update_stream(source.name):
                    names.update(dict.fromkeys(found[source.name]))
            found[table.name] = tuple(names)
        return found

    def level(self, name: str) -> int:
        """0 for base tables, else one more than the highest level among the sources."""
        return self._levels[self[name].name]

    @cached_property
    def _levels(self) -> dict[str, int]:
        levels: dict[str, int] = {}
        for table in self._tables.values():
            levels[table.name] = 1 + max((levels[source] for source in table.sources), default=-1)
        return levels


def _sources_first(tables: Mapping[str, Table]) -> list[str]:
    sorter = graphlib.TopologicalSorter({name: table.sources for name, table in tables.items()})
    try:
        return list(sorter.static_order())
    except graphlib.CycleError as error:
        raise CycleError(tuple(error.args[1][:-1])) from None
