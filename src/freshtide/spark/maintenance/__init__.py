"""How views are brought up to date, a file for each way of maintaining them: DataFrames in, files to be committed out.

What is final at a cut is in `core/maintenance`, under the same names. Nothing here commits anything.
"""

from freshtide.spark.maintenance.incremental import IncrementalViewMaintainer
from freshtide.spark.maintenance.latest import LatestViewMaintainer
from freshtide.spark.maintenance.views import ViewMaintainer

__all__ = ["IncrementalViewMaintainer", "LatestViewMaintainer", "ViewMaintainer"]
