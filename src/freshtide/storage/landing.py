"""How an update lands: what it has written becomes visible, the table itself last.

An update may put rows beside its table: rejects, late rows, what is known of keys. These are committed before the
table and under the same number. Until the commit of the table is there they can be taken back, and whoever updates the
table next does so. Where a flow writes other targets as well, all of them go through one journal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from freshtide.core.arrivals import Arrival
from freshtide.crashpoints import reach
from freshtide.storage.changes import Change
from freshtide.storage.jointcommits import Commit, TableCommit
from freshtide.storage.journal import commit_together
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
