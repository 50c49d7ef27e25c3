"""Rows that several tables of one update read: read once, kept while the update runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from pyspark.sql import DataFrame, SparkSession

from freshtide.core.tables import Table
from freshtide.spark.reading import narrowed, read_between
from freshtide.storage import Snapshot


class SharedScans:
    """The scans of an update group, and the versions of its sources that all its tables are computed from.

    A scan is kept by Spark, in memory or on disk, from its first use until it is released.
    """

    def __init__(self, since: Mapping[str, int | None]) -> None:
        """`since` says per source from where on the tables will read it at most; None: from the beginning."""
        self._since = since
        self._kept: dict[Hashable, DataFrame] = {}
        self._ranges: dict[Hashable, int | None] = {}
        self.pinned: dict[str, Snapshot | None] = {}

    def between(
        self, session: SparkSession, table: Table, snapshot: Snapshot, since: int | None, before: int | None
    ) -> DataFrame:
        """The rows of a stored table stamped in [since, before), out of a scan that serves the other tables too."""
        key, time_column = (table.name, snapshot.version, before), table.time_column
        if key not in self._ranges:
            expected = self._since.get(table.name, since)
            self._ranges[key] = None if since is None or expected is None else min(since, expected)
        begins = self._ranges[key]
        if begins is not None and (since is None or since < begins):
            # Further back than was expected: that is a scan of its own.
            return read_between(session, snapshot, time_column, since, before)
        kept = self.kept(key, lambda: read_between(session, snapshot, time_column, begins, before))
        return kept if since is None or since == begins else narrowed(kept, time_column, since)

    def kept(self, key: Hashable, read: Callable[[], DataFrame]) -> DataFrame:
        """The rows that were read under this key before, or else are read now."""
        if key not in self._kept:
            self._kept[key] = read().persist()
        return self._kept[key]

    def release(self) -> None:
        for frame in self._kept.values():
            frame.unpersist()
        self._kept.clear()
