"""What can be promised: bounds on staleness, tardiness and recovery as plain functions of a set of tables.

Nothing here runs anything or looks at a clock. A bound holds under assumptions, which are functions too:
what breaks them is told with its numbers. The adaptive scheduler takes its recovery periods and thresholds from here.
"""

from freshtide.guarantees.limits import Unavoidable, unavoidable_staleness
from freshtide.guarantees.recovery import fastest_recovery, joint_recovery
from freshtide.guarantees.reservations import (
    Breach,
    Reserved,
    breaches,
    recovery_time,
    recovery_times,
    response_bounds,
    staleness_bounds,
    tardiness_bounds,
    total_utilisation,
    tracks_needed,
)

__all__ = [
    "Breach",
    "Reserved",
    "Unavoidable",
    "breaches",
    "fastest_recovery",
    "joint_recovery",
    "recovery_time",
    "recovery_times",
    "response_bounds",
    "staleness_bounds",
    "tardiness_bounds",
    "total_utilisation",
    "tracks_needed",
    "unavoidable_staleness",
]
