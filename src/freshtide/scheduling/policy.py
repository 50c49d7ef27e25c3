"""How to schedule, as plain data: it goes into traces and comes from project files, scenarios and papers."""

from __future__ import annotations

from dataclasses import dataclass, field

from freshtide.scheduling.adaptive.settings import Adaptive
from freshtide.scheduling.allocations import Allocation, EdfPartitioned, GlobalAllocation, GroupAndRun, Proportional
from freshtide.scheduling.inheritance import (
    Inheritance,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    SumInheritance,
)
from freshtide.scheduling.orderings import BATCHING, ORDERINGS, Myopic, ShortestPeriod, TargetLag
from freshtide.scheduling.scheduled import SLACK, Chopping

ALLOCATIONS: dict[str, type[GlobalAllocation] | type[EdfPartitioned] | type[Proportional] | type[GroupAndRun]] = {
    allocation.name: allocation for allocation in (GlobalAllocation, EdfPartitioned, Proportional, GroupAndRun)
}
INHERITANCES: dict[str, type[NoInheritance] | type[SumInheritance] | type[MaxInheritance] | type[MaxPlusInheritance]]
INHERITANCES = {
    inheritance.name: inheritance for inheritance in (NoInheritance, SumInheritance, MaxInheritance, MaxPlusInheritance)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Who goes first, where, with whose priority, and how much at a time.

    Each part is by default what Golab et al. 2011 found best (section 4.8). What a project runs by that says nothing is
    `TARGET_LAGS`.
    """

    ordering: str = "max-benefit"
    allocation: Allocation = field(default_factory=Proportional)
    inheritance: Inheritance = field(default_factory=MaxInheritance)
    chopping: Chopping = 3.0
    """An update loads at most so many periods (section 3.4), or what the others' targets leave time for (`slack.py`);
    None for all that is there, as with `myopic`."""
    repartition: float = 1.5
    """Tables are shared out anew when the cost of one has grown or shrunk by more than this factor."""
    seed: int = 0
    """Of the ordering `random`."""
    adaptive: Adaptive | None = None
    """Reserved shares and recovery modes: updates then go by the deadlines of their reservations."""

    def __post_init__(self) -> None:
        if self.ordering not in ORDERINGS:
            raise ValueError(f"There is no ordering '{self.ordering}'; there are {', '.join(ORDERINGS)}.")
        if isinstance(self.chopping, float) and self.chopping < 1.0:
            raise ValueError(f"Chopping is at least 1 period, not {self.chopping:g}.")
        if self.ordering in BATCHING:
            object.__setattr__(self, "chopping", None)


TARGET_LAGS = Policy(ordering=TargetLag.name, allocation=GlobalAllocation(), chopping=SLACK)
"""Serves what users declare: target lags steer, nobody starves, and updates are cut by time."""
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
