"""Whether Spark does its work, and what can be done where it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from py4j.protocol import Py4JError

from freshtide.core.errors import RunFailedError, SurroundingsError
from freshtide.spark.failures import SPARK_ERRORS, SparkFailedError, plain_words
from freshtide.spark.jvm import block_folders
from freshtide.spark.sessions import SparkTracks

# A job that a healthy Spark has done at once; it may be busy with other work, and starts anew only after this.
_ANSWERS_WITHIN = 120
_POOL = "probe"
# Into how many parts Spark divides each of its own folders, unless it is told otherwise.
_PARTS = ("spark.diskStore.subDirectories", "64")


class SparkEndedError(SparkFailedError):
    """The process that Spark runs in is gone."""

    def __init__(self) -> None:
        super().__init__("Spark's process has ended.", way_out="It is started again.")


class SparkStoppedError(SparkFailedError):
    """Spark's process is there, and does nothing any more."""

    def __init__(self) -> None:
        super().__init__("Spark has been stopped.", way_out="It is started again.")


class NoExecutorsError(SparkFailedError):
    """A cluster without anybody to do the work."""

    def __init__(self, master: str) -> None:
        super().__init__(
            f"Spark has no executors: {master} gives it none.",
            way_out="Updates wait for them. See that the cluster's workers run, and have memory and cores to give.",
        )


class SparkHealth:
    """Looks after the Spark of a warehouse."""

    def __init__(self, tracks: SparkTracks) -> None:
        self._tracks = tracks

    def look(self) -> None:
        """Raise what can be seen to be wrong without asking for work."""
        gone = self.gone()
        if gone is not None:
            raise gone
        self._require_executors()

    def probe(self) -> None:
        """Raise what is wrong, if a little work is not done as it should be."""
        # Two partitions and a shuffle: tasks run, and blocks are written to Spark's own folders.
        try:
            self.do(lambda: self._tracks.session(_POOL).range(0, 4, 1, 2).repartition(2).count())
        except SPARK_ERRORS as error:
            raise self.gone() or SparkFailedError(f"Spark fails at a small job: {plain_words(error)}") from error

    def do(self, work: Callable[[], object]) -> None:
        """Have a little work done that may hang, where executors are lost for example: then it is left alone."""
        self.look()
        outcome: list[Exception | None] = []

        def run() -> None:
            try:
                work()
                outcome.append(None)
            except Exception as error:
                outcome.append(error)

        worker = threading.Thread(target=run, name="spark-probe", daemon=True)
        worker.start()
        for _ in range(_ANSWERS_WITHIN):
            worker.join(1.0)
            if outcome:
                break
            self.look()
        if not outcome:
            raise SparkFailedError(f"Spark has not done a small job within {_ANSWERS_WITHIN} seconds.")
        if outcome[0] is not None:
            raise outcome[0]

    def revive(self) -> None:
        """Start Spark again if it has gone."""
        gone = self.gone()
        if gone is not None:
            self.mend(gone)

    def mend(self, error: SurroundingsError) -> None:
        """Give back what Spark has lost, or start it anew."""
        if isinstance(error, NoExecutorsError):
            return  # That is the cluster's to do.
        if not isinstance(error, SparkEndedError | SparkStoppedError) and self._restored_folders():
            return
        if self._tracks.can_restart:
            self._tracks.restart()
        elif isinstance(error, SparkEndedError | SparkStoppedError):
            raise RunFailedError(
                f"{error.message} The session was handed in, so that Freshtide cannot start it again.",
                way_out="Make a new session, and a new warehouse with it. Nothing is lost: its run goes on from here.",
            )

    @property
    def own_folders(self) -> list[Path]:
        """The driver's folders for what does not fit into memory or goes from task to task."""
        return block_folders(self._tracks.root)

    def gone(self) -> SparkFailedError | None:
        """Why Spark is not there any more; None while it is."""
        context = self._tracks.root.sparkContext
        try:
            stopped = context._jsc is None or bool(context._jsc.sc().isStopped())
        except (Py4JError, OSError):
            return SparkEndedError()
        return SparkStoppedError() if stopped else None

    def _require_executors(self) -> None:
        context = self._tracks.root.sparkContext
        if self._tracks.works_by_itself:
            return
        if context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
            return  # They come when there is work, and go.
        # The driver counts among them.
        if len(context._jsc.sc().statusTracker().getExecutorInfos()) < 2:
            raise NoExecutorsError(str(context.master))

    def _restored_folders(self) -> bool:
        """Make Spark's own folders anew, where somebody has cleaned them away; whether any was missing.

        Spark makes each part of them once, when it first needs it, and takes it to be there from then on.
        """
        parts = range(int(self._tracks.root.sparkContext.getConf().get(*_PARTS) or 0))
        wanted = [folder / f"{part:02x}" for folder in self.own_folders for part in parts]
        missing = [folder for folder in wanted if not folder.exists()]
        for folder in missing:
            folder.mkdir(parents=True, exist_ok=True)
        return bool(missing)
