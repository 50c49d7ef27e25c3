"""`append`: what the sources have gained adds rows, and none is ever touched again."""

from __future__ import annotations

from freshtide.core.instants import micros
from freshtide.core.tables import Table


class Append:
    """Row-wise queries and band joins: only the new interval is computed."""

    only_appends = True
    has_open_buckets = False
    follows_changes = False

    def open_for(self, table: Table) -> int | None:
        if table.exact_time:
            return 0
        return micros(table.lookback) if table.lookback is not None else None

    def is_bounded(self, table: Table) -> bool:
        joins = table.linear and table.timed_places > 1
        return not joins or table.lookback is not None
