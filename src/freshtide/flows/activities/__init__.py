"""What an activity of a flow can be: plain data, whatever carries it out.

Each knows how many inputs it takes, which of them must be complete before anything comes out, which outputs it has, and
whether it needs memory in proportion to its input (Karagiannis et al. 2013, sections 3 and 5.1). What an activity does
to rows is not said here but in `freshtide.spark.flows`, how it is written in `freshtide.project.flows`.
"""

from collections.abc import Mapping

from freshtide.flows.activities.activity import OTHERWISE, OUT, QUARANTINE, Activity, Blocking, Recordset
from freshtide.flows.activities.ends import Read, SlowlyChanging, Write
from freshtide.flows.activities.gathering import Aggregate, Deduplicate, Pivot, Sort
from freshtide.flows.activities.rowwise import Expression, Filter, Function, NotNull, Router, SurrogateKey
from freshtide.flows.activities.uniting import Difference, Join, SortedUnion, Union

ACTIVITIES: Mapping[str, type[Activity]] = {
    kind.kind: kind
    for kind in (
        Read,
        Write,
        Filter,
        NotNull,
        Expression,
        Function,
        SurrogateKey,
        Join,
        Union,
        SortedUnion,
        Difference,
        Deduplicate,
        Sort,
        Aggregate,
        Pivot,
        Router,
        SlowlyChanging,
    )
}
"""By the names that users write."""

__all__ = [
    "ACTIVITIES",
    "OTHERWISE",
    "OUT",
    "QUARANTINE",
    "Activity",
    "Aggregate",
    "Blocking",
    "Deduplicate",
    "Difference",
    "Expression",
    "Filter",
    "Function",
    "Join",
    "NotNull",
    "Pivot",
    "Read",
    "Recordset",
    "Router",
    "SlowlyChanging",
    "Sort",
    "SortedUnion",
    "SurrogateKey",
    "Union",
    "Write",
]
