"""What can be seen: status, explanations, counts and staleness curves, from the catalog and the tables' logs.

Nothing here changes anything, and nothing needs Spark, so looking on is quick and safe while a warehouse runs.
"""

from freshtide.observe.counts import RowCount, count_rows
from freshtide.observe.curves import TableCurve, staleness_curves
from freshtide.observe.explanations import Explanation, explain
from freshtide.observe.feasibility import require_tracks
from freshtide.observe.places import Places
from freshtide.observe.selection import select_tables
from freshtide.observe.standing import scheduler_of
from freshtide.observe.status import FeedReport, TableReport, WarehouseStatus, warehouse_status

__all__ = [
    "Explanation",
    "FeedReport",
    "Places",
    "RowCount",
    "TableCurve",
    "TableReport",
    "WarehouseStatus",
    "count_rows",
    "explain",
    "require_tracks",
    "scheduler_of",
    "select_tables",
    "staleness_curves",
    "warehouse_status",
]
