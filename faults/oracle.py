"""What must hold, whatever has happened: asked of tables on disk, from the files that the producer has landed alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from faults.computer import rows_of, values_of
from faults.disk import SimulatedDisk
from faults.tables import BASES, VIEWS, Row
from faults.world import Landed, Life, open_tables
from freshtide.storage import Snapshot, StorageError, Store


class WrongError(Exception):
    """Something that must hold does not."""


@dataclass(slots=True)
class Oracle:
    """Looks at the tables of a world through all lives of its processes."""

    landed: list[Landed]
    freshness: dict[str, int] = field(default_factory=dict)
    """How fresh each table has been."""

    def look(self, disk: SimulatedDisk) -> None:
        """At any moment: no row twice and none that was never there, and no table goes back in time."""
        tables = open_tables(disk.another_process(), lambda: 0.0)
        try:
            self._look(tables)
        except StorageError as error:
            raise WrongError(f"A table cannot be read: {error}") from error

    def _look(self, tables: Store) -> None:
        for table in BASES:
            self._base(tables, table)
        for table in (*BASES, *VIEWS):
            snapshot = tables.table(table).snapshot
            fresh = None if snapshot is None else snapshot.freshness
            before = self.freshness.get(table)
            if before is not None and (fresh is None or fresh < before):
                raise WrongError(f"{table} was fresh up to {before}, and is up to {fresh}.")
            if fresh is not None:
                self.freshness[table] = fresh
        for view in VIEWS:
            self._view(tables, view)

    def look_at_the_end(self, life: Life) -> None:
        """Once nothing fails any more and all is loaded: each row is exactly once where it belongs, and booked."""
        self.look(life.disk)
        tables = open_tables(life.disk.another_process(), lambda: 0.0)
        for table in BASES:
            there = self._base(tables, table)
            missing = self._wanted(table) - there
            if missing:
                raise WrongError(f"{table} lacks {sorted(missing)[:5]}.")
            booked = {file.position for file in life.catalog.arrivals.loaded(table)}
            wanted = {file.path for file in self.landed if file.feed == BASES[table][0]}
            if booked != wanted:
                raise WrongError(f"{table} has booked {len(booked)} files of {len(wanted)}.")

    def _wanted(self, table: str) -> Counter[Any]:
        """The rows of all files that the table is to keep, and the lines that are no rows."""
        feed, keeps = BASES[table]
        files = [file for file in self.landed if file.feed == feed]
        return Counter(
            [
                *(row for file in files for row in file.rows if keeps(row)),
                *(line for file in files for line in file.bad),
            ]
        )

    def _base(self, tables: Store, table: str) -> Counter[Any]:
        """What is in a table and beside it: nothing of it twice, and nothing that nobody has landed."""
        landed = tables.table(table).snapshot
        if landed is None:
            return Counter()
        found: list[Any] = [*rows_of(tables.disk, landed), *self._beside(tables, f"{table}__late", landed.number)]
        found += [values[0] for values in self._rejects(tables, table, landed.number)]
        there = Counter(found)
        twice = [each for each, times in there.items() if times > 1]
        if twice:
            raise WrongError(f"{table} and what is beside it have {twice[:3]} more than once.")
        strange = there - self._wanted(table)
        if strange:
            raise WrongError(f"{table} has {list(strange)[:3]}, which nobody has landed.")
        return there

    def _beside(self, tables: Store, side: str, number: int) -> Iterable[Row]:
        snapshot = _landed_with(tables.table(side).snapshot, number)
        return [] if snapshot is None else rows_of(tables.disk, snapshot)

    def _rejects(self, tables: Store, table: str, number: int) -> Iterable[tuple[Any, ...]]:
        snapshot = _landed_with(tables.table(f"{table}__rejects").snapshot, number)
        return [] if snapshot is None else values_of(tables.disk, snapshot)

    def _view(self, tables: Store, view: str) -> None:
        """A view is its query over the rows of its source up to its freshness, unless the source was revised since."""
        source_name, query = VIEWS[view]
        snapshot, source = tables.table(view).snapshot, tables.table(source_name).snapshot
        if snapshot is None or source is None or snapshot.freshness is None or snapshot.record is None:
            return
        seen = snapshot.record.sources.get(source_name, 0)
        revised = tables.table(source_name).revised_since(seen)
        if revised is not None and revised <= snapshot.freshness:
            return
        rows = [row for row in rows_of(tables.disk, source) if row.ts <= snapshot.freshness]
        wanted, found = query(rows), sorted(values_of(tables.disk, snapshot))
        if found != wanted:
            raise WrongError(f"{view} at {snapshot.freshness} has {found[:5]} …, and its query gives {wanted[:5]} ….")


def _landed_with(snapshot: Snapshot | None, number: int) -> Snapshot | None:
    """What is beside a table under a number that the table has not come to is taken back by its next update."""
    return None if snapshot is None or snapshot.number > number else snapshot


def is_done(life: Life, landed: Mapping[str, int]) -> bool:
    """Whether all that has landed is loaded, and the views have come as far as it lets them."""
    rows = life.catalog.tables.all()
    for table in BASES:
        if len(life.catalog.arrivals.loaded(table)) < landed[BASES[table][0]] or table not in rows:
            return False
    for view, (source, _) in VIEWS.items():
        reached, safe = rows[view].freshness if view in rows else None, rows[source].safe
        if reached is None or safe is None or reached < safe:
            return False
    return True
