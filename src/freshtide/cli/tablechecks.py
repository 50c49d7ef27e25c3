"""What `freshtide doctor --deep` looks at: all tables on disk, against what their logs and the catalog say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from freshtide.catalog import Catalog
from freshtide.cli.output import number_of
from freshtide.core.errors import FreshtideError
from freshtide.project import Project
from freshtide.runs import Holding, Loss, LossFinder, Places, holdings
from freshtide.storage import Snapshot, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str
    ok: bool
    found: str
    way_out: str | None = None


def check_tables(project: Project) -> Iterator[Finding]:
    """A finding for each table that is on disk, and for each that should be readable and is not."""
    store = Store(Places(project).tables)
    try:
        catalog = Catalog.open(Places(project).catalog_url)
    except FreshtideError:
        return  # That is told by itself, and without it nobody knows what should be there.
    try:
        finder = LossFinder(project, catalog, store)
        for holding in holdings(project):
            try:
                loss, snapshot = finder.lost(holding), store.table(holding.stored).snapshot
            except FreshtideError as error:
                yield Finding(check=_check(holding), ok=False, found=error.message, way_out=error.way_out)
                continue
            if snapshot is not None or loss is not None:
                yield _finding(holding, snapshot, loss)
    finally:
        catalog.close()


def _check(holding: Holding) -> str:
    return f"Table '{holding.stored}'"


def _finding(holding: Holding, snapshot: Snapshot | None, loss: Loss | None) -> Finding:
    told, is_whole = ["not there"], False
    if snapshot is not None:
        rows, gone = snapshot.rows_on_disk(), snapshot.lost()
        told = [f"{number_of(len(snapshot.files), 'file')}, {rows:,} of {snapshot.rows:,} rows"]
        if gone:
            told.append(
                f"{number_of(len(gone), 'file')} gone or changed, the first is {snapshot.folder / gone[0].path}"
            )
        is_whole = rows == snapshot.rows
    if loss is not None:
        told.append(loss.told)
    return Finding(
        check=_check(holding), ok=is_whole and loss is None, found="; ".join(told), way_out=_way_out(holding)
    )


def _way_out(holding: Holding) -> str:
    if holding.table is None:
        again = f"`freshtide flow run {holding.flow}` writes it once more, from what there is now."
        return f"Put the files back from a backup. {again}"
    with_it = "" if holding.is_own else f", and '{holding.stored}' with it"
    return (
        f"Put the files back from a backup, or start a run: it computes '{holding.table}' anew{with_it}, a base table "
        "from the files of its feed, which must be there."
    )
