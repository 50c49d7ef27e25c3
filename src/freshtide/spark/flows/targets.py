"""What a flow writes: staged while it runs, committed when all of it is there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from freshtide.core.errors import UsageError
from freshtide.core.instants import micros
from freshtide.flows import FlowGraph, Recordset
from freshtide.flows.activities import SlowlyChanging, Write
from freshtide.spark.flows.changes import holds_other_rows
from freshtide.spark.flows.recordsets import Recordsets
from freshtide.spark.schemas import arrow_schema_of
from freshtide.spark.visibility import require_arrived, written_rows
from freshtide.storage import (
    BEGINNING,
    Change,
    Commit,
    Counts,
    FilesCommit,
    FolderCommit,
    StoredTable,
    TableCommit,
    UpdateKind,
    UpdateRecord,
)
from freshtide.world import Disk, files_below, make_folder, sync_tree


class Target(ABC):
    """Somewhere that rows go to."""

    @abstractmethod
    def write(self, frame: DataFrame) -> None:
        """Stage some more rows."""

    @abstractmethod
    def staged_rows(self) -> int | None:
        """Rows staged so far; None where the files do not tell without being read through."""

    @abstractmethod
    def prepare(self, *, at: float) -> Commit | None:
        """All rows are staged: make ready what commits them; None where whoever runs the flow does that."""

    @abstractmethod
    def discard(self) -> None:
        """Throw away what was staged."""


class TableTarget(Target):
    def __init__(
        self,
        table: StoredTable,
        schema: StructType,
        *,
        flow: str,
        replaces: bool,
        sources: Mapping[str, int] | None = None,
    ) -> None:
        """`sources` tells the update of the table that the flow loads, where it loads one."""
        self._table = table
        self._schema = schema
        self._flow = flow
        self._replaces = replaces
        self._sources = sources or {}
        # What a run left behind that did not come to its end is not ours to commit.
        self._before = table.recover()
        self._number = 1 if self._before is None else self._before.number + 1
        self._partition_by = () if self._before is None else self._before.partition_by
        self._staging = table.staging(self._number)
        self._written = 0

    def write(self, frame: DataFrame) -> None:
        self._written += written_rows(frame, self._write)

    def _write(self, frame: DataFrame) -> None:
        writer = frame.write.mode("append").option("compression", "zstd")
        if self._partition_by:
            writer = writer.partitionBy(*self._partition_by)
        writer.parquet(str(self._staging))

    def staged_rows(self) -> int:
        return _footer_rows(self._table.disk, self._staging)

    def prepare(self, *, at: float) -> TableCommit:
        require_arrived(self._staging, written=self._written, found=self.staged_rows())
        files = self._table.adopt(self._staging, number=self._number, partition_by=self._partition_by)
        before, rows = self._before, sum(file.rows for file in files)
        replaced = before.rows if before is not None and self._replaces else 0
        schema = arrow_schema_of(self._schema)
        changes = before is None or (holds_other_rows(before, files, schema) if self._replaces else rows > 0)
        held_since = None if before is None or changes else before.freshness
        changed_at = micros(at) if held_since is None else held_since
        record = UpdateRecord(
            number=self._number,
            kind=UpdateKind.FLOW,
            # It has no time of its own: what it holds holds since it was changed last.
            freshness=changed_at,
            safe=changed_at,
            definition=f"flow {self._flow}",
            counts=Counts(loaded=rows - replaced, replaced=replaced),
            sources=self._sources,
            revised_from=BEGINNING if before is not None and changes else None,
        )
        change = Change(
            record=record,
            at=at,
            schema=schema,
            partition_by=self._partition_by,
            add=tuple(files),
            replace_all=self._replaces,
        )
        return TableCommit(table=self._table.name, change=change)

    def discard(self) -> None:
        self._table.disk.remove_tree(self._staging)


class FolderTarget(Target):
    def __init__(self, path: Path, recordset: Recordset, *, disk: Disk, replaces: bool) -> None:
        self._disk = disk
        self._path = path
        self._recordset = recordset
        self._replaces = replaces
        # Beside the target, so that moving it there is but another name; the dot keeps readers away.
        self._staging = path.with_name(f".{path.name}.staged")
        self._before = path.with_name(f".{path.name}.before")
        self._written = 0
        # What earlier runs left here is of no use: had it been to be committed, that would have been done first.
        self.discard()
        disk.remove_tree(self._before)

    def write(self, frame: DataFrame) -> None:
        # Spark does not force the names of the folders that it makes to disk.
        make_folder(self._disk, self._staging.parent)
        self._written += written_rows(frame, self._write)

    def _write(self, frame: DataFrame) -> None:
        writer = frame.write.mode("append").format(self._recordset.format).options(**self._recordset.options)
        writer.save(str(self._staging))

    def staged_rows(self) -> int | None:
        return _footer_rows(self._disk, self._staging) if tells_rows(self._recordset) else None

    def prepare(self, *, at: float) -> FolderCommit | FilesCommit:  # noqa: ARG002 - files bear no moment
        make_folder(self._disk, self._staging)
        if tells_rows(self._recordset):
            require_arrived(self._staging, written=self._written, found=_footer_rows(self._disk, self._staging))
        self._disk.remove(self._staging / "_SUCCESS", missing_ok=True)
        sync_tree(self._disk, self._staging)
        if self._replaces:
            return FolderCommit(prepared=str(self._staging), target=str(self._path), before=str(self._before))
        names = tuple(sorted(name for name in self._disk.names(self._staging) if not name.startswith(".")))
        return FilesCommit(prepared=str(self._staging), target=str(self._path), names=names)

    def discard(self) -> None:
        self._disk.remove_tree(self._staging)


def tells_rows(target: Recordset) -> bool:
    """Whether a target says how many rows it has without being read through."""
    return target.table is not None or target.format == "parquet"


def _footer_rows(disk: Disk, folder: Path) -> int:
    rows = 0
    for path in files_below(disk, folder, suffix=".parquet"):
        with disk.open(path) as file:
            rows += pq.read_metadata(file).num_rows
    return rows


def targets_of(
    graph: FlowGraph,
    recordsets: Recordsets,
    schemas: Mapping[str, StructType],
    *,
    appending: bool = False,
    anew: bool = False,
    given: Mapping[str, Target] | None = None,
    sources: Mapping[str, int] | None = None,
) -> dict[str, Target]:
    """By activity; those that are `given` are taken as they are. Commits of tables name their `sources`.

    What says no mode is added to where `appending`, and else overwritten. With `anew` all is overwritten: the flow
    runs over all that it has ever run over.
    """
    found: dict[str, Target] = dict(given or {})
    wanted = {node.name: node.activity for node in graph if isinstance(node.activity, Write | SlowlyChanging)}
    _require_one_writer_each(graph, (activity.target for activity in wanted.values()))
    default = "append" if appending else "overwrite"
    for name, activity in wanted.items():
        if name in found:
            continue
        replaces = anew or isinstance(activity, SlowlyChanging) or (activity.mode or default) == "overwrite"
        if activity.target.table is not None:
            table = recordsets.store.table(activity.target.table)
            found[name] = TableTarget(table, schemas[name], flow=graph.name, replaces=replaces, sources=sources)
        else:
            path = recordsets.path(activity.target)
            found[name] = FolderTarget(path, activity.target, disk=recordsets.store.disk, replaces=replaces)
    return found


def _require_one_writer_each(graph: FlowGraph, targets: Iterable[Recordset]) -> None:
    label, times = next(iter(Counter(target.label for target in targets).most_common(1)), ("", 0))
    if times > 1:
        raise UsageError(
            f"{times} activities of flow '{graph.name}' write to the {label}.",
            way_out="Put a union before one that writes, or give each a target of its own.",
        )
