"""Orderings: which of the waiting updates is best (Golab et al. 2011, section 3.1; Bateni et al. 2009, section 4).

One file each. An ordering ranks candidates, and says in words why. Which tables are candidates, and on which tracks, is
not its affair.
"""

from collections.abc import Callable, Mapping

from freshtide.scheduling.orderings.edf import EarliestDeadlineFirst
from freshtide.scheduling.orderings.edf_p import PrioritizedEdf
from freshtide.scheduling.orderings.fifo import Fifo
from freshtide.scheduling.orderings.lookahead import Lookahead
from freshtide.scheduling.orderings.max_benefit import MaxBenefit
from freshtide.scheduling.orderings.myopic import Myopic
from freshtide.scheduling.orderings.ordering import Ordering, RankedOrdering
from freshtide.scheduling.orderings.random_choice import RandomChoice
from freshtide.scheduling.orderings.reserved_deadline import ReservedDeadline
from freshtide.scheduling.orderings.shortest_period import ShortestPeriod
from freshtide.scheduling.orderings.target_lag import TargetLag

ORDERINGS: Mapping[str, Callable[[Callable[[], float]], Ordering]] = {
    Fifo.name: lambda _uniform: Fifo(),
    EarliestDeadlineFirst.name: lambda _uniform: EarliestDeadlineFirst(),
    PrioritizedEdf.name: lambda _uniform: PrioritizedEdf(),
    MaxBenefit.name: lambda _uniform: MaxBenefit(),
    Lookahead.name: lambda _uniform: Lookahead(),
    Myopic.name: lambda _uniform: Myopic(),
    RandomChoice.name: RandomChoice,
    ShortestPeriod.name: lambda _uniform: ShortestPeriod(),
    TargetLag.name: lambda _uniform: TargetLag(),
}
"""By name, made from a source of random numbers in [0, 1)."""
BATCHING = frozenset({Myopic.name})
"""Those that load all that is pending with each update, so that there is no chopping."""

__all__ = [
    "BATCHING",
    "ORDERINGS",
    "EarliestDeadlineFirst",
    "Fifo",
    "Lookahead",
    "MaxBenefit",
    "Myopic",
    "Ordering",
    "PrioritizedEdf",
    "RandomChoice",
    "RankedOrdering",
    "ReservedDeadline",
    "ShortestPeriod",
    "TargetLag",
]
