"""Whether a table can be rebuilt as it stands: asked before anything is started for it."""

from __future__ import annotations

from freshtide.catalog import TableRow
from freshtide.core.errors import RunFailedError


class NothingToRebuildError(RunFailedError):
    """A table that cannot be rebuilt as it stands."""


def require_rebuildable(row: TableRow) -> None:
    """Refuse the rebuild of a table that takes no part in updates, or that has never had one."""
    if row.status == "failed":
        raise NothingToRebuildError(
            f"'{row.name}' has failed, so it cannot be rebuilt: {row.reason or 'nobody knows why'}",
            way_out=f"Mend the cause and run `freshtide resume {row.name}` first.",
        )
    if row.status != "active":
        raise NothingToRebuildError(
            f"'{row.name}' is {row.status}.", way_out=f"Run `freshtide resume {row.name}` first."
        )
    if row.freshness is None:
        raise NothingToRebuildError(f"'{row.name}' has no data yet, so there is nothing to rebuild.")
