"""The proof that no row is lost.

Arrived = in the table + rejected + late + superseded + left out by the query or by a flow.
"""

from __future__ import annotations

from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.project import Project
from freshtide.storage import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount:
    """The rows of a base table's files and where they are.

    `arrived` was counted when the files arrived, before Spark saw them; `table`, `rejects` and `late` are what the
    Delta logs hold now. Only `filtered` and `diverted` are taken from the updates' own counting.
    """

    table: str
    files: int
    arrived: int
    in_table: int
    in_rejects: int
    in_late: int
    filtered: int
    diverted: int = 0
    """What the flow that loads the table took in and did not write to it; less than none where it made more rows."""
    superseded: int = 0
    """Rows of an update table that newer ones of their keys took the place of, on their way or in the table."""

    @property
    def unaccounted(self) -> int:
        found = self.in_table + self.in_rejects + self.in_late
        return self.arrived - found - self.filtered - self.diverted - self.superseded


def count_rows(project: Project, catalog: Catalog, store: Store, tables: tuple[str, ...]) -> list[RowCount]:
    """Count the base tables among the given ones, as far as their rows came in files."""
    found = []
    rows = catalog.tables.all()
    for name in tables:
        table = project.graph[name]
        if table.feed is None or project.feeds[table.feed].stream is not None:
            continue  # Single rows are counted by nobody before they are taken in.
        files, arrived = catalog.files.expected_rows(name)
        counts = rows[name].counts if name in rows else {}
        superseded = counts.get("superseded", 0) + counts.get("replaced", 0)
        accounted = superseded + sum(counts.get(part, 0) for part in ("loaded", "diverted", "rejected", "late"))
        found.append(
            RowCount(
                table=name,
                files=files,
                arrived=arrived,
                in_table=_stored(store, name),
                in_rejects=_stored(store, f"{name}__rejects"),
                in_late=_stored(store, f"{name}__late"),
                filtered=counts.get("read", 0) - accounted,
                diverted=counts.get("diverted", 0),
                superseded=superseded,
            )
        )
    return found


def _stored(store: Store, name: str) -> int:
    snapshot = store.table(name).snapshot
    return snapshot.rows if snapshot else 0
