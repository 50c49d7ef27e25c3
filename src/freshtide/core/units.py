"""Units of updating: a table by itself, or the tables of an update group together.

"We define a single update job for all the tables" (Golab et al. 2011, section 2.1). The scheduler knows units only, by
name: a group's, or that of a table that is in none. Catalog, storage and users know tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from freshtide.core.tables import Table


class UpdateUnits(Mapping[str, tuple[str, ...]]):
    """Units by name with their tables, sources first."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        """The tables come in an order in which sources come before their dependents."""
        self._tables = tables
        members: dict[str, list[str]] = {}
        for table in tables.values():
            members.setdefault(table.update_group or table.name, []).append(table.name)
        self._members = {unit: tuple(names) for unit, names in members.items()}

    def __getitem__(self, unit: str) -> tuple[str, ...]:
        return self._members[unit]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def of(self, table: str) -> str:
        """The unit that a table is updated in."""
        return self._tables[table].update_group or table

    def of_all(self, tables: Iterable[str]) -> tuple[str, ...]:
        """The units that some tables are updated in, each once."""
        return tuple(dict.fromkeys(self.of(table) for table in tables))

    def beside(self, table: str) -> tuple[str, ...]:
        """The tables that are updated together with this one."""
        return tuple(other for other in self[self.of(table)] if other != table)

    def sources(self, unit: str) -> tuple[str, ...]:
        """The units that a unit's tables are computed from."""
        return self.of_all(source for table in self[unit] for source in self._tables[table].sources)

    def timed_sources(self, unit: str) -> tuple[str, ...]:
        """Those of them whose time the unit's tables go by."""
        return self.of_all(source for table in self[unit] for source in self._tables[table].timed_sources)

    def is_group(self, unit: str) -> bool:
        return unit not in self._tables
