"""Whether all machines that work for Spark see the same folders as the driver."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

from freshtide.core.errors import FreshtideError, SurroundingsError
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.jvm import observed

_EVERYWHERE = "It must be there, under the same name, on every machine that works for Spark: mount it on each."
# Each file is read by a task of its own.
_APART = ("spark.sql.files.openCostInBytes", str(1 << 30))
_PROBE = ".freshtide-probe"
_ROWS = "rows"


class NotSharedError(FreshtideError):
    """A folder that the driver sees and others do not."""


class RowsMissingError(SurroundingsError):
    """What Spark has written is not where it should be."""

    def __init__(self, folder: Path, *, written: int, found: int) -> None:
        super().__init__(
            f"Spark says that it has written {written:,} rows into {folder}, and {found:,} are there.",
            way_out=_EVERYWHERE,
        )


def written_rows(frame: DataFrame, write: Callable[[DataFrame], None]) -> int:
    """Let Spark write a frame; how many rows it says it has written."""
    count = Observation()
    write(frame.observe(count, sf.count(sf.lit(1)).alias(_ROWS)))
    figures = observed(count, (_ROWS,))
    return 0 if figures is None else int(figures[_ROWS])


def require_arrived(folder: Path, *, written: int, found: int) -> None:
    """Let nothing be committed of which a part is elsewhere: executors that do not see a folder write beside it."""
    if found != written:
        raise RowsMissingError(folder, written=written, found=found)


def require_shared(session: SparkSession, *, tables: Path, feeds: Iterable[Path]) -> None:
    """Have tasks write among the tables, and read there and from the folders of feeds; name what does not work."""
    session.conf.set(*_APART)
    try:
        _require_writing(session, tables)
        for folder in (tables, *feeds):
            if folder.is_dir():
                _require_reading(session, folder)
    finally:
        session.conf.unset(_APART[0])


def _require_writing(session: SparkSession, folder: Path) -> None:
    tasks = _tasks(session)
    probe = folder / f"{_PROBE}-{uuid.uuid4().hex}"
    try:
        session.range(0, tasks, 1, tasks).write.parquet(str(probe))
        found = sum(pq.read_metadata(file).num_rows for file in probe.glob("*.parquet"))
    except SPARK_ERRORS as error:
        raise NotSharedError(
            f"Spark's workers cannot write into {folder}: {plain_words(error)}", way_out=_EVERYWHERE
        ) from error
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    if found < tasks:
        raise NotSharedError(
            f"What Spark's workers write into {folder} does not arrive: {tasks - found} of {tasks} rows are missing.",
            way_out=_EVERYWHERE,
        )


def _require_reading(session: SparkSession, folder: Path) -> None:
    probe = folder / f"{_PROBE}-{uuid.uuid4().hex}"
    try:
        probe.mkdir()
        for number in range(_tasks(session)):
            (probe / f"{number}.txt").write_text("seen\n")
    except OSError:
        return  # The landing folder of somebody else, who does not let us write there: nothing to try it with.
    try:
        session.read.text(str(probe)).collect()
    except SPARK_ERRORS as error:
        raise NotSharedError(
            f"Spark's workers do not see {folder}: {plain_words(error)}", way_out=_EVERYWHERE
        ) from error
    finally:
        shutil.rmtree(probe, ignore_errors=True)


def _tasks(session: SparkSession) -> int:
    """Enough for every machine to get one."""
    return 2 * session.sparkContext.defaultParallelism
