"""The proof that no row is lost.

Arrived = in the table + rejected + late + superseded + left out by the query or by a flow. Of a table of windows, which
holds what came of them, it is those that came into windows, and those that wait for them. Each of these is counted in
two ways: on arrival and by Spark, by the updates and in the Delta logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.core.sides import GONE, LATE, REJECTS, WAITS, open_beside
from freshtide.core.tables import SqlQuery, Table
from freshtide.project import Project
from freshtide.runs import LossFinder, holdings
from freshtide.storage import Store, stored_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount:
    """The rows of a base table's files and where they are.

    `arrived` was counted when the files arrived, before Spark saw them; `in_table`, `in_rejects` and `in_late` are what
    the Delta logs hold now. The others are taken from the updates' own counting.
    """

    table: str
    files: int
    arrived: int
    read: int
    """What Spark has read of the same files."""
    in_table: int
    in_rejects: int
    in_late: int
    filtered: int
    """What the query was given and left out. Of a function only what it left out beyond what it added is known."""
    multiplied: int = 0
    """Rows that a function has made beyond those that it was given."""
    diverted: int = 0
    """What the flow that loads the table took in and did not write to it; less than none where it made more rows."""
    superseded: int = 0
    """Rows of an update table that newer ones of their keys took the place of, on their way or in the table."""
    in_windows: int | None = None
    """Rows that came into windows, where results of these are in the table; None: rows are there one by one."""
    waiting: int = 0
    """Rows that are in no window yet that has been served."""
    faults: tuple[str, ...] = ()
    """What cannot be explained, in words."""

    @property
    def unaccounted(self) -> int:
        came_in = self.in_table if self.in_windows is None else self.in_windows
        found = came_in + self.in_rejects + self.in_late + self.waiting
        return self.arrived - found - self.filtered + self.multiplied - self.diverted - self.superseded


def count_rows(project: Project, catalog: Catalog, store: Store, tables: tuple[str, ...]) -> list[RowCount]:
    """Count the base tables among the given ones, as far as their rows came in files."""
    found = []
    rows = catalog.tables.all()
    finder = LossFinder(project, catalog, store)
    uncounted = [holding for holding in holdings(project) if holding.flow is not None or holding.stored.endswith(GONE)]
    for name in tables:
        table = project.graph[name]
        if table.feed is None or not project.feeds[table.feed].brings_files:
            continue  # Single rows are counted by nobody before they are taken in.
        files, arrived = catalog.arrivals.expected_rows(name)
        counted = rows[name].counts if name in rows else {}
        said = {part: counted.get(part, 0) for part in ("loaded", "rejected", "late", "waiting", "diverted", "read")}
        held = {
            "loaded": _stored(store, name),
            "rejected": _stored(store, f"{name}{REJECTS}"),
            "late": _stored(store, f"{name}{LATE}"),
            "waiting": _waiting(store, table),
        }
        superseded = counted.get("superseded", 0) + counted.get("replaced", 0)
        in_windows = counted.get("windowed", 0) if table.has_windows else None
        came_in = said["loaded"] if in_windows is None else in_windows
        aside = sum(said[part] for part in ("rejected", "late", "waiting", "diverted"))
        left_out = said["read"] - superseded - came_in - aside
        multiplied = 0 if isinstance(table.query, SqlQuery) else max(0, -left_out)
        filtered = left_out + multiplied
        found.append(
            RowCount(
                table=name,
                files=files,
                arrived=arrived,
                read=said["read"],
                in_table=held["loaded"],
                in_rejects=held["rejected"],
                in_late=held["late"],
                filtered=filtered,
                multiplied=multiplied,
                diverted=said["diverted"],
                superseded=superseded,
                in_windows=in_windows,
                waiting=held["waiting"],
                faults=(
                    *_differences({"arrived": arrived, **said}, {"arrived": said["read"], **held}),
                    *_impossible(filtered, keeps_all=table.row_for_row or table.has_windows),
                    *(loss.told for loss in finder.find(beside for beside in uncounted if beside.table == name)),
                ),
            )
        )
    return found


def _differences(counted: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """Where two counts of the same rows do not agree."""
    places = {
        "arrived": "read by Spark",
        "loaded": "in the table",
        "rejected": "among the rejects",
        "late": "kept apart",
        "waiting": "put down for open windows",
    }
    return [
        f"{counted[part]:,} rows {part}, and {found[part]:,} are {place}"
        for part, place in places.items()
        if counted[part] != found[part]
    ]


def _impossible(filtered: int, *, keeps_all: bool) -> list[str]:
    """What no query can have done."""
    if filtered < 0:
        return [f"{-filtered:,} rows more than were given to the query came out of it"]
    if keeps_all and filtered:
        return [f"{filtered:,} rows were left out, and the query leaves none out"]
    return []


def _waiting(store: Store, table: Table) -> int:
    """How many rows wait for their first window, as they are put down."""
    snapshot = store.table(open_beside(table)).snapshot if table.has_windows else None
    if snapshot is None or WAITS not in snapshot.schema.names:  # Earlier versions did not tell.
        return 0
    there = tuple(file for file in snapshot.files if file not in snapshot.lost())
    waits: list[bool | None] = stored_rows(snapshot, there, columns=(WAITS,)).column(WAITS).to_pylist()
    return waits.count(True)


def _stored(store: Store, name: str) -> int:
    snapshot = store.table(name).snapshot
    return snapshot.rows_on_disk() if snapshot else 0
