"""`full`: all of it is computed anew by every update."""

from __future__ import annotations

from freshtide.core.tables import Table


class Full:
    """Anything: no row is ever final."""

    only_appends = False
    has_open_buckets = False
    follows_changes = False

    def open_for(self, table: Table) -> int | None:  # noqa: ARG002 - of whatever table
        return None

    def is_bounded(self, table: Table) -> bool:  # noqa: ARG002 - of whatever table
        return False
