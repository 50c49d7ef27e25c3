"""Spark sessions: one to start with, one per track to work in."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from freshtide.core.errors import FreshtideError
from freshtide.interrupts import interrupts_later
from freshtide.spark.failures import plain_words
from freshtide.spark.launching import launch

# What correctness rests on: these hold in every session that Freshtide works in, whoever made it.
_REQUIRED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Queries read tables. Spark would put environment and settings into their text, and open files that they name.
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",
    # A row is parsed whole, whatever a query makes of it: otherwise its errors are not found.
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.csv.filterPushdown.enabled": "false",
    "spark.sql.json.filterPushdown.enabled": "false",
    "spark.sql.optimizer.enableCsvExpressionOptimization": "false",
    "spark.sql.optimizer.enableJsonExpressionOptimization": "false",
    # Times in nanoseconds have no type of their own: they are read as numbers.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # What could be parsed of a row is kept, to say what could not.
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.json.enableExactStringParsing": "true",
}
# Updates are many and small: a shuffle into Spark's default number of partitions would cost more than the work.
_SHUFFLE, _SPARKS_DEFAULT, _OURS = "spark.sql.shuffle.partitions", "200", str(max(2, os.cpu_count() or 2))
_CODE_GENERATION = "spark.sql.codegen.wholeStage"
_DEFAULTS = {
    _SHUFFLE: _OURS,
    "spark.master": "local[*]",
    "spark.app.name": "freshtide",
    "spark.driver.memory": "2g",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    # Recording the call site of every expression costs more than the expressions.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A warehouse runs for months: what Spark remembers of past jobs must stay small.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.catalogImplementation": "in-memory",
    # Without files of checksums beside others: Spark cannot look for that of a file with a colon in its name.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}


# Within one machine Spark need not find out how the network calls it; the executors of a cluster must.
_ON_ONE_MACHINE = {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}


# What reads ORC goes through times of the zone that the JVM is in.
_IN_UTC = "-Duser.timezone=UTC"


# By these PySpark would look for a server instead of starting Spark.
_CONNECT = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


_logger = logging.getLogger(__name__)


class SparkUnavailableError(FreshtideError):
    """Spark cannot be started on this machine."""


def start_session(configuration: Mapping[str, str], *, log: Path | None = None) -> SparkSession:
    """Start Spark with the user's configuration on top of the defaults; what it prints goes to the log."""
    if not _find_java():
        raise SparkUnavailableError(
            "Java was not found, and Spark needs it.",
            way_out="Install Java 17 or newer and make sure that `java` is on the PATH or JAVA_HOME is set.",
        )
    if remote := [name for name in _CONNECT if os.environ.get(name)]:
        raise SparkUnavailableError(
            f"{remote[0]} is set, and Spark Connect is not supported: the driver runs in this process.",
            way_out=f"Unset it, and name a cluster by `master` in freshtide.yml: `unset {remote[0]}`.",
        )
    # PySpark logs every user error as JSON with a stack trace; the error itself reaches us as an exception.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL + 1)
    settings = {**_DEFAULTS, **_REQUIRED, **configuration}
    if works_by_itself(settings["spark.master"]):
        settings = {**_ON_ONE_MACHINE, **settings}
        # What Spark does in Python needs what is installed for this one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    quiet = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
    for where, own in (("driver", f"{quiet} {_IN_UTC}"), ("executor", _IN_UTC)):
        options = f"spark.{where}.extraJavaOptions"
        settings[options] = f"{own} {settings.get(options, '')}".strip()
    builder = SparkSession.Builder()
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        # An interrupt before Spark is up would leave a Java process behind that nobody ends.
        with _standard_error_to(log), interrupts_later():
            launch(settings)
            return _without_tracebacks(builder.getOrCreate())
    except Exception as error:
        raise SparkUnavailableError(
            f"Spark did not start: {plain_words(error)}",
            way_out=f"Check `spark` in freshtide.yml and run `freshtide doctor`.{_printed_to(log)}",
        ) from error


def _without_tracebacks(session: SparkSession) -> SparkSession:
    """Let PySpark's thread that waits for accumulators end in silence: if Spark dies, it is told once and by us."""
    server = session.sparkContext._accumulatorServer

    def log(*_connection: object) -> None:
        _logger.info("The connection for accumulators was lost.", exc_info=True)

    if server is not None:
        server.handle_error = log  # type: ignore[assignment, method-assign]
    return session


def working_session(root: SparkSession, *, compiled: bool) -> SparkSession:
    """A session to work in: what correctness rests on holds, and temporary views and settings are its own."""
    session = root.newSession()
    for name, value in _REQUIRED.items():
        session.conf.set(name, value)
    chosen = root.conf.get(_SHUFFLE, _SPARKS_DEFAULT) or _SPARKS_DEFAULT
    session.conf.set(_SHUFFLE, _OURS if chosen == _SPARKS_DEFAULT else chosen)
    if not compiled:
        session.conf.set(_CODE_GENERATION, "false")
    return session


def works_by_itself(master: str | None) -> bool:
    """Whether Spark under such a master is one process."""
    return master is None or master == "local" or master.startswith("local[")


class SparkTracks:
    """A session and a FAIR pool for each thread that works, made when the thread first asks."""

    def __init__(self, session: SparkSession, *, start: Callable[[], SparkSession] | None = None) -> None:
        """`start` starts Spark anew; without it the session is somebody else's."""
        self.root = session
        self._start = start
        self._local = threading.local()

    def session(self, pool: str) -> SparkSession:
        """The calling thread's session: temporary views and settings are its own."""
        root = self.root
        if getattr(self._local, "root", None) is not root:
            # Compiling a plan takes longer than running it over a few thousand rows; see `compiled_plans`.
            session = working_session(root, compiled=False)
            session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
            self._local.session, self._local.root = session, root
        made: SparkSession = self._local.session
        return made

    @property
    def works_by_itself(self) -> bool:
        """Whether the driver does all the work, and no other process."""
        return works_by_itself(self.root.sparkContext.master)

    @property
    def can_restart(self) -> bool:
        return self._start is not None

    def restart(self) -> None:
        """Leave this Spark, dead or alive, and start another: every thread gets a new session when it asks."""
        assert self._start is not None, "a session that was handed in stays"
        _abandon(self.root)
        self.root = self._start()

    def stop(self) -> None:
        # A Spark that has died need not be stopped.
        with suppress(Py4JError, OSError):
            self.root.stop()


def _abandon(session: SparkSession) -> None:
    """End a Spark and let PySpark forget it: of itself it clings to the first one, even if that has died."""
    context, gateway = session.sparkContext, SparkContext._gateway
    for _ in range(2):  # What the first attempt stumbles over, the second passes by.
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            context.stop()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.kill()
        process.wait()
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


@contextmanager
def compiled_plans(session: SparkSession) -> Iterator[None]:
    """Let Spark compile the plans of large work: there it pays."""
    session.conf.set(_CODE_GENERATION, "true")
    try:
        yield
    finally:
        session.conf.set(_CODE_GENERATION, "false")


@contextmanager
def _standard_error_to(log: Path | None) -> Iterator[None]:
    """Let a process started within inherit a log file as its standard error, and keep ours."""
    if log is None:
        yield
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(ours, 2)
        os.close(ours)


def _printed_to(log: Path | None) -> str:
    return "" if log is None else f" What Spark printed is in {log}."


def _find_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return True
    return shutil.which("java") is not None
