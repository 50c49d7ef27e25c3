"""Virtual time: workloads, the scheduler driven by simulated events, staleness integrated exactly, experiments.

The scheduler and the queues are those that the warehouse runs; what is simulated is the world around them, from a seed.
No table on disk and no Spark has a part in it. What is in store for a project of the user's is told by `planning`.
"""

from freshtide.simulation.engine import Simulation, without_contention
from freshtide.simulation.flowtimes import Flow
from freshtide.simulation.results import Result, WarehouseFlow, relative_lateness
from freshtide.simulation.search import least_weighted_staleness
from freshtide.simulation.staleness import Staleness
from freshtide.simulation.tables import CompletedUpdate
from freshtide.simulation.workload import (
    Failures,
    Lateness,
    Pattern,
    Rebuild,
    SimulatedTable,
    Slowdown,
    Standing,
    Stream,
    Workload,
)

__all__ = [
    "CompletedUpdate",
    "Failures",
    "Flow",
    "Lateness",
    "Pattern",
    "Rebuild",
    "Result",
    "SimulatedTable",
    "Simulation",
    "Slowdown",
    "Staleness",
    "Standing",
    "Stream",
    "WarehouseFlow",
    "Workload",
    "least_weighted_staleness",
    "relative_lateness",
    "without_contention",
]
