"""Work that is not about tables, spread over a cluster."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def spread_over_cluster(
    session: SparkSession, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
) -> Iterator[ResultT]:
    """Apply a function of this package to every item, each in a task of its own.

    The package goes along: nothing but Python has to be on the workers, as long as the function needs no more.
    """
    context = session.sparkContext
    with tempfile.TemporaryDirectory(prefix="freshtide-") as folder:
        package = Path(__file__).parents[1]
        context.addPyFile(
            shutil.make_archive(f"{folder}/freshtide", "zip", root_dir=package.parent, base_dir=package.name)
        )
        yield from context.parallelize(items, len(items)).map(function).toLocalIterator(prefetchPartitions=True)
