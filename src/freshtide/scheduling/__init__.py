"""Who goes next: the scheduler, free of I/O and clocks, and the policies it is made of.

`Scheduler.handle(events, now)` takes what happened and returns what to do: it applies the events, then decides. The
live warehouse and the simulator drive the same object; an `Onlooker` applies and decides nothing. A `Policy`
says how: an ordering (who is best), an allocation (which track), an inheritance (with whose priority) and chopping (how
much at a time).
"""

from freshtide.scheduling.adaptive import Adaptive, Mode, ReservationView
from freshtide.scheduling.allocations import (
    Allocation,
    EdfPartitioned,
    GlobalAllocation,
    GroupAndRun,
    Lane,
    Load,
    Partition,
    Proportional,
    Shortage,
    tracks_of,
)
from freshtide.scheduling.beginnings import Beginning, Reach, Reconfiguration
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.conditions import RetryPolicy
from freshtide.scheduling.inheritance import (
    Inheritance,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    SumInheritance,
)
from freshtide.scheduling.onlooker import Onlooker, Prospect
from freshtide.scheduling.orderings import BATCHING, ORDERINGS, Ordering
from freshtide.scheduling.policy import (
    ALLOCATIONS,
    GROUP_AND_RUN,
    INHERITANCES,
    PRP,
    TARGET_LAGS,
    Policy,
    adaptive_policy,
)
from freshtide.scheduling.reasons import TableView
from freshtide.scheduling.scheduled import ASSUMED_PERIOD, SLACK, TARGET_PERIODS, Chopping, ScheduledTable
from freshtide.scheduling.scheduler import Scheduler

__all__ = [
    "ALLOCATIONS",
    "ASSUMED_PERIOD",
    "BATCHING",
    "GROUP_AND_RUN",
    "INHERITANCES",
    "ORDERINGS",
    "PRP",
    "SLACK",
    "TARGET_LAGS",
    "TARGET_PERIODS",
    "Adaptive",
    "Allocation",
    "Beginning",
    "Candidate",
    "Chopping",
    "EdfPartitioned",
    "GlobalAllocation",
    "GroupAndRun",
    "Inheritance",
    "Lane",
    "Load",
    "MaxInheritance",
    "MaxPlusInheritance",
    "Mode",
    "NoInheritance",
    "Onlooker",
    "Ordering",
    "Partition",
    "Policy",
    "Proportional",
    "Prospect",
    "Reach",
    "Reconfiguration",
    "ReservationView",
    "RetryPolicy",
    "ScheduledTable",
    "Scheduler",
    "Shortage",
    "SumInheritance",
    "TableView",
    "adaptive_policy",
    "tracks_of",
]
