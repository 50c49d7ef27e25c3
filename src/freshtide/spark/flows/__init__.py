"""ETL flows carried out by Spark.

`transforms.py` says what each kind of activity does to rows. A `SparkWorker` does it pack by pack, for the monitor of
`freshtide.flows`; `fused.py` does it a subflow at a time, as the Mixed Policy has it. What a flow writes is staged, and
all of its targets are committed together (`commits.py`). `run_flow` is the face of it.

Which activity is next, and how a flow is divided, is not decided here but in `freshtide.flows`.
"""

from freshtide.spark.flows.failures import ActivityError
from freshtide.spark.flows.recordsets import Recordsets
from freshtide.spark.flows.running import PACK_ROWS, SHORT_NAMES, FlowReport, Progress, policy_named, run_flow
from freshtide.spark.flows.schemas import FlowSchemas, resolve_flow

__all__ = [
    "PACK_ROWS",
    "SHORT_NAMES",
    "ActivityError",
    "FlowReport",
    "FlowSchemas",
    "Progress",
    "Recordsets",
    "policy_named",
    "resolve_flow",
    "run_flow",
]
