"""What can be seen: status, health, explanations, counts, curves, traces, predictions, from what a run leaves behind.

Nothing here changes anything, and nothing needs Spark, so looking on is quick and safe while a warehouse runs.
"""

from freshtide.observe.bounds import Demand
from freshtide.observe.counts import RowCount, count_rows
from freshtide.observe.curves import TableCurve, staleness_curves
from freshtide.observe.demands import Demands, demands_of
from freshtide.observe.explanations import Explanation, explain
from freshtide.observe.feasibility import require_tracks
from freshtide.observe.health import FeedHealth, HealthState, feed_healths, outage_story
from freshtide.observe.keeping import KeptBound, kept_bounds
from freshtide.observe.losses import Holding, Loss, LossFinder, holdings
from freshtide.observe.places import Places
from freshtide.observe.planning import Plan, PlannedTable, Work, plan_of
from freshtide.observe.prediction import Prediction, WarehouseModel, predict, warehouse_model
from freshtide.observe.promises import Assurance, Promise, promises
from freshtide.observe.rebuilding import NothingToRebuildError, require_rebuildable
from freshtide.observe.recommendation import Recommendation, recommend
from freshtide.observe.remedies import Remedy, remedies
from freshtide.observe.replay import Difference, Replay, TraceError, replay_trace
from freshtide.observe.rhythms import FeedRhythm, KnownBy, rhythm_of
from freshtide.observe.selection import select_tables
from freshtide.observe.standing import beginning_of, reach_of, scheduler_from
from freshtide.observe.status import FeedReport, TableReport, WarehouseStatus, warehouse_status
from freshtide.observe.traces import Reached, beginning_line, continuation_line, decision_line
from freshtide.observe.troubles import Trouble, read_trouble, write_trouble

__all__ = [
    "Assurance",
    "Demand",
    "Demands",
    "Difference",
    "Explanation",
    "FeedHealth",
    "FeedReport",
    "FeedRhythm",
    "HealthState",
    "Holding",
    "KeptBound",
    "KnownBy",
    "Loss",
    "LossFinder",
    "NothingToRebuildError",
    "Places",
    "Plan",
    "PlannedTable",
    "Prediction",
    "Promise",
    "Reached",
    "Recommendation",
    "Remedy",
    "Replay",
    "RowCount",
    "TableCurve",
    "TableReport",
    "TraceError",
    "Trouble",
    "WarehouseModel",
    "WarehouseStatus",
    "Work",
    "beginning_line",
    "beginning_of",
    "continuation_line",
    "count_rows",
    "decision_line",
    "demands_of",
    "explain",
    "feed_healths",
    "holdings",
    "kept_bounds",
    "outage_story",
    "plan_of",
    "predict",
    "promises",
    "reach_of",
    "read_trouble",
    "recommend",
    "remedies",
    "replay_trace",
    "require_rebuildable",
    "require_tracks",
    "rhythm_of",
    "scheduler_from",
    "select_tables",
    "staleness_curves",
    "warehouse_model",
    "warehouse_status",
    "write_trouble",
]
