"""The Mixed Policy: a policy of its own for each subflow, subflows of a stratum in parallel."""

from __future__ import annotations

from dataclasses import dataclass

from freshtide.flows.graph import FlowGraph
from freshtide.flows.policies.minimum_cost import MinimumCost
from freshtide.flows.policies.minimum_memory import MinimumMemory
from freshtide.flows.subflows import Subflow, break_into_subflows, derive_strata

MIXED = "mixed"
THETA = 6
"""With more memory-intensive activities than this a subflow is run so as to save memory: the paper's 4 to 6 for scale
factor 1 (section 7.4). The more data, the fewer it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSubflow:
    """A subflow and the name of the policy that runs it."""

    subflow: Subflow
    policy: str


def plan_mixed(graph: FlowGraph, *, theta: int = THETA) -> tuple[tuple[PlannedSubflow, ...], ...]:
    """Algorithm EIS (Karagiannis et al. 2013, section 5.3): strata in order, each with its subflows."""
    strata = derive_strata(graph, break_into_subflows(graph))
    return tuple(
        tuple(PlannedSubflow(subflow=subflow, policy=_policy(graph, subflow, theta)) for subflow in stratum)
        for stratum in strata
    )


def _policy(graph: FlowGraph, subflow: Subflow, theta: int) -> str:
    intensive = sum(graph[name].activity.memory_intensive for name in subflow.nodes)
    return MinimumMemory.name if intensive > theta else MinimumCost.name
