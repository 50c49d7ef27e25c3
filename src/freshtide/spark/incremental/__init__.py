"""Views from the changes of their sources: a rule for each operator of a query.

Here belongs how changes become changes, what has to be kept for that, and what has changed of a source. When a view is
maintained so, and what is committed, does not.
"""

from freshtide.spark.incremental.arrowrows import FEW_BYTES, having, left_over
from freshtide.spark.incremental.compiling import (
    Compiled,
    against,
    columns_by_former,
    compiled,
    compiled_query,
    known_query,
)
from freshtide.spark.incremental.operators import NeedsAllError, NotIncrementalError, When
from freshtide.spark.incremental.plans import SIGN, Plans
from freshtide.spark.incremental.running import Run, Settled, Sources
from freshtide.spark.incremental.sources import ViewSources
from freshtide.spark.incremental.states import KeptStates, StateChange

__all__ = [
    "FEW_BYTES",
    "SIGN",
    "Compiled",
    "KeptStates",
    "NeedsAllError",
    "NotIncrementalError",
    "Plans",
    "Run",
    "Settled",
    "Sources",
    "StateChange",
    "ViewSources",
    "When",
    "against",
    "columns_by_former",
    "compiled",
    "compiled_query",
    "having",
    "known_query",
    "left_over",
]
