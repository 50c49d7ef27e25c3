"""What can be seen: status, health, explanations, counts, curves, from what a run leaves behind.

Nothing here changes anything, and nothing needs Spark, so looking on is quick and safe while a warehouse runs. What
would happen belongs to `planning`, and what a run itself needs to `runs`.
"""

from freshtide.observe.counts import RowCount, count_rows
from freshtide.observe.curves import TableCurve, staleness_curves
from freshtide.observe.explanations import Explanation, explain
from freshtide.observe.health import FeedHealth, HealthState, feed_healths, outage_story
from freshtide.observe.objective import LastHour, Objective
from freshtide.observe.selection import select_tables
from freshtide.observe.status import (
    FeedReport,
    TableReport,
    WarehouseStatus,
    is_behind,
    kind_in_words,
    warehouse_status,
)

__all__ = [
    "Explanation",
    "FeedHealth",
    "FeedReport",
    "HealthState",
    "LastHour",
    "Objective",
    "RowCount",
    "TableCurve",
    "TableReport",
    "WarehouseStatus",
    "count_rows",
    "explain",
    "feed_healths",
    "is_behind",
    "kind_in_words",
    "outage_story",
    "select_tables",
    "staleness_curves",
    "warehouse_status",
]
