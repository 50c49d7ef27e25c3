"""What can be promised: bounds on staleness, tardiness and recovery as plain functions of a set of tables.

Nothing here runs anything or looks at a clock. A bound holds under assumptions, which are functions too:
what breaks them is told with its numbers. The adaptive scheduler takes its recovery periods and thresholds from here.

Which tables a project has, and what they cost, is for `planning` to find out, which also tells users what follows.
"""

from freshtide.guarantees.competitiveness import (
    EagerLoad,
    best_choice,
    eager_breaches,
    eager_factor,
    penalty_breaches,
    penalty_factor,
    proportion,
)
from freshtide.guarantees.limits import Unavoidable, unavoidable_staleness
from freshtide.guarantees.reservations import (
    ROUNDING,
    Breach,
    Reserved,
    breaches,
    fastest_recovery,
    fit_together,
    joint_recovery,
    recovery_time,
    recovery_times,
    response_bounds,
    staleness_bounds,
    tardiness_bounds,
    total_utilisation,
    tracks_needed,
    whole_buckets,
)
from freshtide.guarantees.stretch import (
    STRETCH,
    Group,
    GroupedLoad,
    grouped_breaches,
    least_weighted_staleness,
    staleness_bound,
    stretch_bound,
    waiting_bound,
    waiting_breaches,
    weighted_staleness_bound,
)
from freshtide.guarantees.turns import Contender, longest_wait

__all__ = [
    "ROUNDING",
    "STRETCH",
    "Breach",
    "Contender",
    "EagerLoad",
    "Group",
    "GroupedLoad",
    "Reserved",
    "Unavoidable",
    "best_choice",
    "breaches",
    "eager_breaches",
    "eager_factor",
    "fastest_recovery",
    "fit_together",
    "grouped_breaches",
    "joint_recovery",
    "least_weighted_staleness",
    "longest_wait",
    "penalty_breaches",
    "penalty_factor",
    "proportion",
    "recovery_time",
    "recovery_times",
    "response_bounds",
    "staleness_bound",
    "staleness_bounds",
    "stretch_bound",
    "tardiness_bounds",
    "total_utilisation",
    "tracks_needed",
    "unavoidable_staleness",
    "waiting_bound",
    "waiting_breaches",
    "weighted_staleness_bound",
    "whole_buckets",
]
