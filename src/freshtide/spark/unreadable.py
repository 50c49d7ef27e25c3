"""Files that passed inspection and that Spark cannot read all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Feed
from freshtide.core.loads import LoadItem
from freshtide.spark.failures import SPARK_ERRORS, SparkFailedError, UnreadableFilesError, plain_words
from freshtide.spark.flows.failures import ActivityError
from freshtide.spark.formats import spark_format

_FOLDER = ".known-good"
_NOT_SEEN = ("does not exist", "FileNotFoundException", "No such file or directory")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGood:
    """A file without fault, among the tables: where Spark cannot read that, no other file is to blame."""

    session: SparkSession
    feed: Feed
    tables: Path

    def require_readable(self) -> None:
        try:
            found = spark_format(self.feed).read_known_good(self.session, self._written()).collect()
        except SPARK_ERRORS as error:
            raise SparkFailedError(
                f"Spark cannot even read a file that is known to be good: {plain_words(error)}"
            ) from error
        if not found:
            raise SparkFailedError("Spark finds nothing in a file that is known to be good.")

    def fault_of(self, file: Arrival, error: BaseException) -> str:
        """What is wrong with a file by what Spark says of it, if that is to be relied on."""
        if not Path(file.position).exists():
            raise error  # It is waited for.
        self.require_readable()
        return _reason(file, error)

    def _written(self) -> Path:
        path = self.tables / _FOLDER / f"one-row.{self.feed.format.name}"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            spark_format(self.feed).write_known_good(path)
        return path


@contextmanager
def reading(
    items: Sequence[LoadItem], try_one: Callable[[LoadItem], object], *, known_good: KnownGood
) -> Iterator[None]:
    """When reading fails, try the files one by one: those that cannot be read must not hold up the others.

    They are only to blame while Spark reads a file that is known to be good.
    """
    try:
        yield
    except (*SPARK_ERRORS, ActivityError):
        reasons = []
        for item in items:
            try:
                try_one(item)
            except AnalysisException:
                raise  # That is about the query or the schema, not about the file.
            except SPARK_ERRORS as error:
                reasons.append((item.arrival, _reason(item.arrival, error)))
        if reasons:
            known_good.require_readable()
            raise UnreadableFilesError(reasons) from None
        raise


def _reason(file: Arrival, error: BaseException) -> str:
    told = plain_words(error)
    if any(words in told for words in _NOT_SEEN) and Path(file.position).exists():
        raise SparkFailedError(
            f"Spark's workers do not see {file.position}, which is there: {told}",
            way_out="The folder must be there, under the same name, on every machine that works for Spark.",
        ) from error
    return told
