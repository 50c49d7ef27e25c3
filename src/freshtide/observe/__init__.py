"""What can be seen: status, explanations, counts, staleness curves and predictions, from the catalog and the logs.

Nothing here changes anything, and nothing needs Spark, so looking on is quick and safe while a warehouse runs.
"""

from freshtide.observe.counts import RowCount, count_rows
from freshtide.observe.curves import TableCurve, staleness_curves
from freshtide.observe.explanations import Explanation, explain
from freshtide.observe.feasibility import require_tracks
from freshtide.observe.places import Places
from freshtide.observe.prediction import Prediction, WarehouseModel, predict, warehouse_model
from freshtide.observe.recommendation import Recommendation, recommend
from freshtide.observe.selection import select_tables
from freshtide.observe.standing import scheduler_of
from freshtide.observe.status import FeedReport, TableReport, WarehouseStatus, warehouse_status

__all__ = [
    "Explanation",
    "FeedReport",
    "Places",
    "Prediction",
    "Recommendation",
    "RowCount",
    "TableCurve",
    "TableReport",
    "WarehouseModel",
    "WarehouseStatus",
    "count_rows",
    "explain",
    "predict",
    "recommend",
    "require_tracks",
    "scheduler_of",
    "select_tables",
    "staleness_curves",
    "warehouse_model",
    "warehouse_status",
]
