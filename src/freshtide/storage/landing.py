"""How an update lands: what it has written becomes visible, the table itself last.

An update may put rows beside its table: rejects, late rows, what is known of keys. These are committed before the
table and under the same number. Until the commit of the table is there they can be taken back, and whoever updates the
table next does so. Where a flow writes other targets as well, all of them go through one journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from freshtide.core.arrivals import Arrival
from freshtide.crashpoints import reach
from freshtide.storage.changes import Change
from freshtide.storage.errors import StorageError
from freshtide.storage.jointcommits import Commit, TableCommit
from freshtide.storage.journal import commit_together
from freshtide.storage.records import Counts, LoadedArrival
from freshtide.storage.rows import nullable
from freshtide.storage.snapshots import Snapshot
from freshtide.storage.store import Store
from freshtide.storage.tables import StoredTable

TableChange = tuple[StoredTable, Change]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An update that has been computed: its files are on disk, and no log names them yet."""

    own: TableChange
    beside: tuple[TableChange, ...] = ()
    files: tuple[Arrival, ...] = ()
    """What the table is done with once the update has landed."""
    others: tuple[Commit, ...] = ()
    """The other targets of the flow that loads the table."""
    journal: Path | None = None
    """Where the journal of a flow is kept; None: the table is not loaded by one."""


def gathered(parts: Sequence[Prepared], last: Prepared, *, files: tuple[Arrival, ...]) -> Prepared:
    """A rebuild as a whole: what its parts have written and what the last one has, under the record of that.

    `files` are all that it is made of, as its last part found them.
    """
    every = [*parts, last]
    table, change = last.own
    counts = sum((part.own[1].record.counts for part in every), start=Counts())
    record = replace(change.record, counts=counts, arrivals=tuple(map(LoadedArrival.of, files)))
    aside = replace(record, counts=Counts(), arrivals=(), targets={})
    beside: dict[str, TableChange] = {}
    for side, its in (found for part in every for found in part.beside):
        known = beside[side.name][1] if side.name in beside else replace(its, add=())
        # Where nothing was put aside, a part only says that what was there before goes.
        beside[side.name] = (
            side,
            replace(its if its.add else known, record=aside, at=change.at, add=known.add + its.add),
        )
    for part in parts:
        if not nullable(part.own[1].schema).equals(nullable(change.schema), check_metadata=False):
            raise StorageError(f"The parts of a rebuild of '{table.name}' have different columns. It begins anew.")
    add = tuple(file for part in every for file in part.own[1].add)
    return Prepared(own=(table, replace(change, record=record, add=add)), beside=tuple(beside.values()), files=files)


def next_number(table: StoredTable, beside: Iterable[StoredTable] = (), *, at: float) -> int:
    """The number of the next update; what one that never landed has left beside the table is taken back."""
    current = table.snapshot
    landed = current.number if current else 0
    for side in beside:
        side.roll_back(landed, at=at)
    return landed + 1


def land(prepared: Prepared, store: Store) -> Snapshot:
    """Make an update visible, all of it; the table as it is then."""
    table, change = prepared.own
    if prepared.journal is not None:
        beside, own = (
            [TableCommit(table=stored.name, change=its) for stored, its in changes]
            for changes in (prepared.beside, [prepared.own])
        )
        commit_together(prepared.journal, [*beside, *prepared.others, *own], store)
    else:
        for side, its in prepared.beside:
            side.commit(its)
        reach("rejects-committed")
        table.commit(change)
    snapshot = table.snapshot
    assert snapshot is not None, "an update leaves a table"
    return snapshot
