"""Work that is not about tables, spread over a cluster."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

from freshtide.spark.sessions import works_by_itself

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def spread_over_cluster(
    session: SparkSession, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
) -> Iterator[ResultT]:
    """Apply a function of this package to every item, each in a task of its own.

    The package goes along: nothing but Python has to be on the workers, as long as the function needs no more.
    """
    send_package(session)
    context = session.sparkContext
    yield from context.parallelize(items, len(items)).map(function).toLocalIterator(prefetchPartitions=True)


def send_package(session: SparkSession) -> None:
    """Let the workers of a cluster have this package, as long as Spark runs."""
    context = session.sparkContext
    if works_by_itself(context.master) or context.applicationId in _SENT:
        return
    folder = tempfile.TemporaryDirectory(prefix="freshtide-")
    package = Path(__file__).parents[1]
    context.addPyFile(
        shutil.make_archive(f"{folder.name}/freshtide", "zip", root_dir=package.parent, base_dir=package.name)
    )
    _SENT[context.applicationId] = folder


_SENT: dict[str | None, tempfile.TemporaryDirectory[str]] = {}
"""By application, where what was sent lies: the workers fetch it when they first need it. It goes with this process."""
