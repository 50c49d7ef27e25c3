"""`incremental`: from what has come and gone of the sources; any row may be another one after an update."""

from __future__ import annotations

from freshtide.core.tables import Table


class Incremental:
    """Whatever can be followed operator by operator: no row is ever final, and few are written anew."""

    only_appends = False
    has_open_buckets = False
    follows_changes = True

    def open_for(self, table: Table) -> int | None:  # noqa: ARG002 - of whatever table
        return None

    def is_bounded(self, table: Table) -> bool:  # noqa: ARG002 - of whatever table
        return False
