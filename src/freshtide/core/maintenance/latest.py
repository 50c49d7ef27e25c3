"""`latest`: of each key the newest row counts, and any row may be superseded at any time (Moga et al. 2009)."""

from __future__ import annotations

from freshtide.core.tables import Table


class Latest:
    """One row per key: the past of the table is gone."""

    only_appends = False
    has_open_buckets = False
    follows_changes = False

    def open_for(self, table: Table) -> int | None:  # noqa: ARG002 - of whatever table
        return None

    def is_bounded(self, table: Table) -> bool:  # noqa: ARG002 - of whatever table
        return False
