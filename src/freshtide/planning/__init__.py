"""What would happen, and what can be promised: plans, bounds, promises and their remedies, predictions.

Everything is computed from a project and its catalog before anything runs, and held against what was seen (`keeping`).
The theorems themselves are in `guarantees`, virtual time is in `simulation`.
"""

from freshtide.planning.backfills import Foresight, foresee
from freshtide.planning.bounds import Demand
from freshtide.planning.demands import Demands, demands_of
from freshtide.planning.eagerness import EagerBound, eager_bound
from freshtide.planning.efforts import Effort
from freshtide.planning.executions import Execution, executions
from freshtide.planning.feasibility import require_tracks
from freshtide.planning.keeping import KeptBound, kept_bounds
from freshtide.planning.plans import Plan, PlannedTable, Work, plan_of
from freshtide.planning.prediction import Prediction, WarehouseModel, predict, warehouse_model
from freshtide.planning.promises import Assurance, Promise, promises
from freshtide.planning.recommendation import Recommendation, recommend
from freshtide.planning.recovery import Recovery, recoveries
from freshtide.planning.remedies import Remedy, remedies

__all__ = [
    "Assurance",
    "Demand",
    "Demands",
    "EagerBound",
    "Effort",
    "Execution",
    "Foresight",
    "KeptBound",
    "Plan",
    "PlannedTable",
    "Prediction",
    "Promise",
    "Recommendation",
    "Recovery",
    "Remedy",
    "WarehouseModel",
    "Work",
    "demands_of",
    "eager_bound",
    "executions",
    "foresee",
    "kept_bounds",
    "plan_of",
    "predict",
    "promises",
    "recommend",
    "recoveries",
    "remedies",
    "require_tracks",
    "warehouse_model",
]
