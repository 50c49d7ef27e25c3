"""Sources as DataFrames: tables of the warehouse at their newest version, and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshtide.core.errors import FreshtideError
from freshtide.flows.activities import Recordset
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.reading import empty_frame, read_files, schema_of
from freshtide.spark.schemas import quoted, schema_from_ddl
from freshtide.storage import Snapshot, Store

_AT_ONCE = 4


class SourceError(FreshtideError):
    """A source of a flow that cannot be read."""


class LostRowsError(FreshtideError):
    """A table that a flow goes on from has lost rows, and these cannot be had again from what arrived."""

    def __init__(self, snapshot: Snapshot) -> None:
        lost = snapshot.lost()
        super().__init__(
            f"The table '{snapshot.folder.name}', which the flow goes on from, has lost Parquet files, {len(lost)} of "
            f"them. The first is {snapshot.folder / lost[0].path}.",
            way_out=f"Put them back from a backup. Or move {snapshot.folder} away and start a run: then the table "
            "begins anew, and with it all that the flow writes.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Rows to be read; nothing has been read yet."""

    frame: DataFrame
    rows: int | None
    """Where the files tell without being read through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recordsets:
    """Where recordsets are: tables in the store, files under the root of the project."""

    session: SparkSession
    store: Store
    root: Path
    arrived: Mapping[str, DataFrame] = field(default_factory=dict)
    """What an update takes in, by feed (in lower case)."""
    declared: Mapping[str, StructType] = field(default_factory=dict)
    """Columns of tables that may have no data yet, where only columns are asked for."""
    _sources: list[tuple[Recordset, Source]] = field(default_factory=list)
    """What has been looked at already: a flow runs over the version of a table that it was analysed with."""

    def read(self, recordset: Recordset) -> Source:
        """A source, at its first reading as it is now, and from then on as it was."""
        source = self._looked_at(recordset)
        if source is None:
            source = self._read(recordset)
            self._sources.append((recordset, source))
        return source

    def rows_of(self, recordset: Recordset) -> int | None:
        """How many rows a source has, where that is known before it is read through."""
        try:
            return self.read(recordset).rows
        except FreshtideError:
            return None

    def look_at(self, recordsets: Iterable[Recordset]) -> None:
        """Read several at once: to find the columns of files takes Spark a job for each. What cannot be read waits."""
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            list(pool.map(self.rows_of, recordsets))

    def columns(self, recordset: Recordset) -> DataFrame:
        """A source without its rows. Files of a table need not be there for that: its log tells."""
        if recordset.table is not None and self._looked_at(recordset) is None:
            snapshot = self.store.table(recordset.table).snapshot
            if snapshot is not None:
                return empty_frame(self.session, schema_of(snapshot))
        return self.empty(self.read(recordset).frame)

    def _looked_at(self, recordset: Recordset) -> Source | None:
        return next((source for known, source in self._sources if known == recordset), None)

    def _read(self, recordset: Recordset) -> Source:
        if recordset.feed is not None:
            return Source(frame=self.arrived[recordset.feed.lower()], rows=None)
        if recordset.table is not None:
            snapshot = self.store.table(recordset.table).snapshot
            if snapshot is None and recordset.table in self.declared:
                return Source(frame=empty_frame(self.session, self.declared[recordset.table]), rows=0)
            if snapshot is None:
                raise SourceError(
                    f"The table '{recordset.table}' has no data.",
                    way_out="Load it first, or correct the name.",
                )
            return Source(frame=read_files(self.session, snapshot, snapshot.files), rows=snapshot.rows)
        try:
            frame = self._files(recordset)
            return Source(frame=frame, rows=_footer_rows(frame) if recordset.format == "parquet" else None)
        except SPARK_ERRORS as error:
            raise SourceError(
                f"The {recordset.label} cannot be read: {plain_words(error)}",
                way_out=f"They are looked for in {self.root}.",
            ) from error

    def current(self, recordset: Recordset) -> DataFrame | None:
        """What a target holds; None if it was never written."""
        if recordset.table is not None:
            snapshot = self.store.table(recordset.table).snapshot
            return None if snapshot is None else read_whole(self.session, snapshot)
        return self._files(recordset) if self.path(recordset).exists() else None

    def current_columns(self, recordset: Recordset) -> DataFrame | None:
        """The same without its rows."""
        if recordset.table is None:
            current = self.current(recordset)
            return None if current is None else self.empty(current)
        return None if self.store.table(recordset.table).snapshot is None else self.columns(recordset)

    def path(self, recordset: Recordset) -> Path:
        assert recordset.files is not None, "a table has no path of its own"
        return self.root / recordset.files

    def empty(self, frame: DataFrame) -> DataFrame:
        return empty_frame(self.session, frame.schema)

    def _files(self, recordset: Recordset) -> DataFrame:
        reader = self.session.read.format(recordset.format).options(**recordset.options)
        if recordset.schema is not None:
            columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in recordset.schema.items())
            reader = reader.schema(schema_from_ddl(columns))
        return reader.load(str(self.path(recordset)))


def read_whole(session: SparkSession, snapshot: Snapshot) -> DataFrame:
    """All rows of a table that a flow goes on from."""
    if snapshot.lost():
        raise LostRowsError(snapshot)
    return read_files(session, snapshot, snapshot.files)


def _footer_rows(frame: DataFrame) -> int | None:
    """Rows by the footers of the files, where these are at hand."""
    places = [urlparse(uri) for uri in frame.inputFiles()]
    if any(place.scheme not in {"", "file"} for place in places):
        return None
    return sum(int(pq.read_metadata(unquote(place.path)).num_rows) for place in places)
