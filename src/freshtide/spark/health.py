"""Whether Spark does its work, and what can be done where it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

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


class FoldersGoneError(SparkFailedError):
    """Somebody has cleaned away what Spark's process keeps on disk while it lives."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"Spark's own folder for blocks has been removed: {folder}",
            way_out="It is made anew. Let `spark.local.dir` be a folder that nothing cleans.",
        )


class SparkHealth:
    """Looks after the Spark of a warehouse."""

    def __init__(self, tracks: SparkTracks) -> None:
        self._tracks = tracks
        self._parts: tuple[SparkSession, list[Path]] | None = None

    def look(self) -> None:
        """Raise what can be seen to be wrong without asking for work."""
        gone = self.gone()
        if gone is not None:
            raise gone
        self._require_executors()
        for part in self._own_parts():
            if not part.exists():
                raise FoldersGoneError(part.parent)

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
        if isinstance(error, FoldersGoneError):
            _make(self._own_parts())
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

    def _own_parts(self) -> list[Path]:
        """The parts of Spark's own folders.

        Spark makes each once, when it first needs it, and takes it to be there from then on. All are made when
        they are first asked for: one that is missing later has been taken away.
        """
        root = self._tracks.root
        if self._parts is None or self._parts[0] is not root:
            count = int(root.sparkContext.getConf().get(*_PARTS) or 0)
            parts = [folder / f"{part:02x}" for folder in self.own_folders for part in range(count)]
            _make(parts)
            self._parts = (root, parts)
        return self._parts[1]


def _make(folders: list[Path]) -> None:
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
