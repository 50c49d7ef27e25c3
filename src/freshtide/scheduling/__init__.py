"""Who goes next: the scheduler, free of I/O and clocks, and the policies it is made of.

`Scheduler.handle(events, now)` takes what happened and returns what to do. The live warehouse and the
simulator drive the same object.
"""

from freshtide.scheduling.orderings import ORDERINGS, Candidate, Fifo, MaxBenefit, Ordering
from freshtide.scheduling.retries import RetryPolicy
from freshtide.scheduling.scheduler import ScheduledTable, Scheduler, TableView

__all__ = [
    "ORDERINGS",
    "Candidate",
    "Fifo",
    "MaxBenefit",
    "Ordering",
    "RetryPolicy",
    "ScheduledTable",
    "Scheduler",
    "TableView",
]
