"""Policies that have a name of their own in the papers."""

from __future__ import annotations

from freshtide.scheduling.adaptive.settings import Adaptive
from freshtide.scheduling.allocations import GlobalAllocation, GroupAndRun, Proportional
from freshtide.scheduling.inheritance import NoInheritance
from freshtide.scheduling.orderings import Myopic, ShortestPeriod
from freshtide.scheduling.policy import Policy

PRP = Policy(
    ordering=ShortestPeriod.name,
    allocation=Proportional(measure="period", k=2.0),
    inheritance=NoInheritance(),
    chopping=None,
)
"""What Leontyev et al. 2010, section VII, compare their scheduler with: short periods first, clusters by period within
a factor of 2, promotion wherever a track is idle, all that is pending in one update."""


GROUP_AND_RUN = Policy(ordering=Myopic.name, allocation=GroupAndRun(), inheritance=NoInheritance())
"""The whole algorithm of Bateni et al. 2009, figure 2."""


def adaptive_policy(adaptive: Adaptive | None = None) -> Policy:
    """The scheduler of Leontyev et al. 2010: all tracks for all, nobody inherits, one file or period at a time."""
    return Policy(
        allocation=GlobalAllocation(), inheritance=NoInheritance(), chopping=1.0, adaptive=adaptive or Adaptive()
    )
