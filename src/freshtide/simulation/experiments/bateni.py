"""What the experiments on Bateni et al. 2009 have in common. The paper has theorems and no measurements.

As in its model, an update takes a time in proportion to what it loads, with nothing for its beginning, and loads all
that is pending. `alpha t / p` is how busy the tracks are if every table takes alpha for a second of data.
"""

from __future__ import annotations

from collections.abc import Mapping

from freshtide.scheduling import Allocation, GlobalAllocation, NoInheritance, Policy
from freshtide.simulation.engine import Simulation, without_contention
from freshtide.simulation.experiments.experiment import Conditions
from freshtide.simulation.results import WarehouseFlow
from freshtide.simulation.workload import Pattern, SimulatedTable, Stream, Workload

X_LABEL = "alpha t / p"
EVENTS = 100_000
FASTER = 0.8
"""Of alpha: what the faster tables take, so that schedulers which go by costs have something to go by."""


def base(
    name: str, *, pattern: Pattern, period: float, alpha: float, fast: bool, priority: float = 1.0
) -> SimulatedTable:
    """A base table whose updates take alpha, or a little less, for a second of data."""
    stream = Stream(period=period, pattern=pattern)
    return SimulatedTable(
        name=name, stream=stream, priority=priority, alpha=0.0, beta=alpha * (FASTER if fast else 1.0)
    )


def batching(ordering: str, allocation: Allocation | None = None) -> Policy:
    """Loads all that is pending, on any track if nothing else is said: then it is eager."""
    return Policy(
        ordering=ordering, allocation=allocation or GlobalAllocation(), inheritance=NoInheritance(), chopping=None
    )


def compared(
    workload: Workload, policies: Mapping[str, Policy], *, tracks: int, conditions: Conditions
) -> tuple[WarehouseFlow, dict[str, WarehouseFlow]]:
    """How updates flow with a track for every table, and under each policy over the same time."""
    uncontended = without_contention(workload, Policy(chopping=None)).run(events=conditions.events)
    return uncontended.flow(), {
        label: Simulation(workload, policy, tracks=tracks).run(horizon=uncontended.end).flow()
        for label, policy in policies.items()
    }
