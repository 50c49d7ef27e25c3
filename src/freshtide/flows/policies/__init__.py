"""Which activity runs next: pure decisions over the state of the queues. One file each.

Karagiannis et al. 2013, section 4. The Mixed Policy of section 5 chooses among these for each subflow: `mixed.py`.

A policy is told how activities stand and names one of them. The `Monitor` asks it, activates that one and takes notes.
"""

from collections.abc import Callable, Mapping

from freshtide.flows.policies.minimum_cost import MinimumCost
from freshtide.flows.policies.minimum_memory import MinimumMemory
from freshtide.flows.policies.mixed import MIXED, THETA, PlannedSubflow, plan_mixed
from freshtide.flows.policies.policy import FlowPolicy, Standing
from freshtide.flows.policies.round_robin import RoundRobin

POLICIES: Mapping[str, Callable[[], FlowPolicy]] = {
    RoundRobin.name: RoundRobin,
    MinimumCost.name: MinimumCost,
    MinimumMemory.name: MinimumMemory,
}
"""By name; each flow gets one of its own, as Round Robin remembers whose turn it was."""

__all__ = [
    "MIXED",
    "POLICIES",
    "THETA",
    "FlowPolicy",
    "MinimumCost",
    "MinimumMemory",
    "PlannedSubflow",
    "RoundRobin",
    "Standing",
    "plan_mixed",
]
