"""What `freshtide doctor --deep` looks at: the files of all tables, against what their logs say."""

from __future__ import annotations

from collections.abc import Iterator

from freshtide.cli.findings import Finding
from freshtide.cli.output import number_of
from freshtide.core.errors import FreshtideError
from freshtide.core.sides import sides
from freshtide.observe import Places
from freshtide.project import Project
from freshtide.storage import Snapshot, Store


def check_tables(project: Project) -> Iterator[Finding]:
    """A finding for each table that is on disk, and for each that should be readable and is not."""
    store = Store(Places(project).tables)
    for table in project.graph.values():
        for name in (table.name, *(sides(table) if table.is_base else ())):
            try:
                snapshot = store.table(name).snapshot
            except FreshtideError as error:
                yield Finding(check=f"Table '{name}'", ok=False, found=error.message, way_out=error.way_out)
                continue
            if snapshot is not None:
                yield _files(name, table.name, snapshot)


def _files(name: str, table: str, snapshot: Snapshot) -> Finding:
    lost, rows = snapshot.lost(), snapshot.rows_on_disk()
    found = f"{number_of(len(snapshot.files), 'file')}, {rows:,} of {snapshot.rows:,} rows"
    if lost:
        found += f"; {number_of(len(lost), 'file')} gone or changed, the first is {snapshot.folder / lost[0].path}"
    return Finding(
        check=f"Table '{name}'",
        ok=not lost and rows == snapshot.rows,
        found=found,
        way_out=f"Put the files back from a backup, or start a run: it computes '{table}' anew, a base table from the "
        "files of its feed, which must be there.",
    )
