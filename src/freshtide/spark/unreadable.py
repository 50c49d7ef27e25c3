"""Files that passed inspection and that Spark cannot read all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException

from freshtide.core.errors import FreshtideError
from freshtide.core.files import FeedFile
from freshtide.core.loads import LoadItem
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.flows.failures import ActivityError


class UnreadableFilesError(FreshtideError):
    """Files that passed inspection and still cannot be read."""

    def __init__(self, reasons: Sequence[tuple[FeedFile, str]]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(f"{file.path}: {reason}" for file, reason in self.reasons))


@contextmanager
def reading(items: Sequence[LoadItem], try_one: Callable[[LoadItem], object]) -> Iterator[None]:
    """When reading fails, try the files one by one: those that cannot be read must not hold up the others."""
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
                reasons.append((item.file, plain_words(error)))
        if reasons:
            raise UnreadableFilesError(reasons) from None
        raise
