"""The data work: sessions, loading files, maintaining views, checking them. The only importer of pyspark.

An update runs on a track: a thread with a Spark session and a FAIR-scheduler pool of its own. Nothing here decides what
to update; that is the scheduler's business. How a table is committed to is that of `storage`.
"""

from pyspark.sql import DataFrame, SparkSession

from freshtide.spark.analysis import against_changes, as_of_joins, compared, resolve_columns
from freshtide.spark.asof import TableStates
from freshtide.spark.audit import Audit, AuditResult
from freshtide.spark.computer import SparkComputer
from freshtide.spark.failures import SparkFailedError, UnreadableFilesError
from freshtide.spark.flows.loads import AwaitedTableError, LoadingFlows
from freshtide.spark.health import SparkEndedError, SparkHealth
from freshtide.spark.latest.listeners import Listener, Listeners
from freshtide.spark.latest.runner import LatestTableRunner
from freshtide.spark.latest.serving import LatestStreams, QueueMaker
from freshtide.spark.queries import run_query
from freshtide.spark.scans import SharedScans
from freshtide.spark.schemas import TableSchemas
from freshtide.spark.sessions import SparkTracks, start_session
from freshtide.spark.spreading import spread_over_cluster
from freshtide.spark.visibility import require_shared

__all__ = [
    "Audit",
    "AuditResult",
    "AwaitedTableError",
    "DataFrame",
    "LatestStreams",
    "LatestTableRunner",
    "Listener",
    "Listeners",
    "LoadingFlows",
    "QueueMaker",
    "SharedScans",
    "SparkComputer",
    "SparkEndedError",
    "SparkFailedError",
    "SparkHealth",
    "SparkSession",
    "SparkTracks",
    "TableSchemas",
    "TableStates",
    "UnreadableFilesError",
    "against_changes",
    "as_of_joins",
    "compared",
    "require_shared",
    "resolve_columns",
    "run_query",
    "spread_over_cluster",
    "start_session",
]
