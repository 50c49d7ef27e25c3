"""`partitions`: the buckets of time that are still open are computed anew, and closed ones are final."""

from __future__ import annotations

from freshtide.core.instants import micros
from freshtide.core.tables import Table


class Partitions:
    """Aggregates over buckets of time: what was open is replaced."""

    only_appends = False
    has_open_buckets = True
    follows_changes = False

    def open_for(self, table: Table) -> int | None:
        return micros(table.lookback or 0.0)

    def is_bounded(self, table: Table) -> bool:  # noqa: ARG002 - a bucket knows its rows
        return True
