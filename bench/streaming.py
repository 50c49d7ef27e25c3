"""The peer: Spark Structured Streaming, one query per feed, from CSV files to Parquet."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from bench.readings import DDL
from freshtide.spark import SparkSession


class _Query(Protocol):
    def stop(self) -> None: ...
    def exception(self) -> Exception | None: ...


class StreamingQueries:
    """Queries that run within a block.

    A file counts as committed when the sink's log names its batch: from then on readers of the sink see its rows.
    The moment is the modification time of that log entry, which is written first and then renamed into place:
    a little early, in favour of the peer. The checkpoint's own commit, which comes later, is not waited for.
    """

    def __init__(self, spark: SparkSession, folder: Path, feeds: Mapping[str, Path], *, trigger: str) -> None:
        self._spark = spark
        self._folder = folder
        self._feeds = feeds
        self._trigger = trigger
        self._queries: list[_Query] = []
        self._batches: dict[str, dict[str, int]] = {feed: {} for feed in feeds}
        self._read: set[Path] = set()

    def __enter__(self) -> StreamingQueries:
        for feed, source in self._feeds.items():
            source.mkdir(parents=True, exist_ok=True)
            rows = self._spark.readStream.schema(DDL).option("header", True).csv(str(source))
            writer = rows.writeStream.format("parquet").option("path", str(self._sink(feed)))
            writer = writer.option("checkpointLocation", str(self._checkpoint(feed)))
            self._queries.append(writer.trigger(processingTime=self._trigger).start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for query in self._queries:
            query.stop()

    def wait(self, files: Mapping[str, Path], *, limit: float) -> dict[str, float]:
        """The commit time of each feed's file; files that were not committed within the limit are left out."""
        end = time.monotonic() + limit
        found: dict[str, float] = {}
        while len(found) < len(files) and time.monotonic() < end:
            for query in self._queries:
                if (fault := query.exception()) is not None:
                    raise fault
            time.sleep(0.1)
            for feed, path in files.items():
                if feed not in found and (moment := self._committed_at(feed, path)) is not None:
                    found[feed] = moment
        return found

    def wait_for_all(self, files: Sequence[Path], *, limit: float) -> dict[Path, float]:
        """The commit time of each file, several of a feed among them; those not committed in time are left out."""
        end = time.monotonic() + limit
        found: dict[Path, float] = {}
        while len(found) < len(files) and time.monotonic() < end:
            time.sleep(0.5)
            for path in files:
                if path not in found and (moment := self._committed_at(path.parent.name, path)) is not None:
                    found[path] = moment
        return found

    def _committed_at(self, feed: str, file: Path) -> float | None:
        batch = self._batch_of(feed, file)
        if batch is None:
            return None
        # Every tenth entry of the log is a compacted one.
        for name in (str(batch), f"{batch}.compact"):
            try:
                return (self._sink(feed) / "_spark_metadata" / name).stat().st_mtime
            except FileNotFoundError:
                continue
        return None

    def _batch_of(self, feed: str, file: Path) -> int | None:
        """The batch that took a file, by the log of the source."""
        batches = self._batches[feed]
        log = self._checkpoint(feed) / "sources" / "0"
        if file.name not in batches and log.exists():
            for entry in log.iterdir():
                if entry in self._read or entry.name.startswith("."):
                    continue
                for line in entry.read_text().splitlines()[1:]:
                    taken = json.loads(line)
                    batches[taken["path"].rpartition("/")[2]] = taken["batchId"]
                self._read.add(entry)
        return batches.get(file.name)

    def _sink(self, feed: str) -> Path:
        return self._folder / "sinks" / feed

    def _checkpoint(self, feed: str) -> Path:
        return self._folder / "checkpoints" / feed
