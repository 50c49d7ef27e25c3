"""Rows on their way: held in memory by Spark, or staged on disk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshtide.spark.reading import empty_frame
from freshtide.world import Disk, make_folder

_PART = re.compile(r"part-(\d+)-.*-c(\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A Parquet file in the scratch folder."""

    path: Path
    rows: int


class Scratch:
    """A folder for what a run puts on disk, from its start to its end."""

    def __init__(self, folder: Path, session: SparkSession, disk: Disk) -> None:
        self.folder = folder
        self.disk = disk
        self.session = session
        self._numbers = count()
        disk.remove_tree(folder)
        # The journal of the run will be here: it is as lasting as the name of its folder.
        make_folder(disk, folder)

    def new_folder(self, what: str) -> Path:
        return self.folder / f"{next(self._numbers):06d}-{what}"

    def stage(self, frame: DataFrame, what: str, *, pack_rows: int | None = None) -> list[StagedFile]:
        """Write the rows, at most so many into a file, in their order."""
        folder = self.new_folder(what)
        # It is read once and soon: to compress it well would take longer than to write more.
        writer = frame.write.option("compression", "lz4")
        if pack_rows is not None:
            writer = writer.option("maxRecordsPerFile", pack_rows)
        writer.parquet(str(folder))
        return staged_files(folder)

    def read(self, files: Sequence[StagedFile], schema: StructType) -> DataFrame:
        if not files:
            return empty_frame(self.session, schema)
        return self.session.read.schema(schema).parquet(*(str(file.path) for file in files))

    def remove(self) -> None:
        self.disk.remove_tree(self.folder)


def staged_files(folder: Path) -> list[StagedFile]:
    """The files that Spark wrote into a folder, in the order of its rows; those without rows are left out."""
    found = (StagedFile(path=path, rows=pq.read_metadata(path).num_rows) for path in folder.glob("*.parquet"))
    return sorted((file for file in found if file.rows), key=lambda file: _place(file.path.name))


def _place(name: str) -> tuple[int, int]:
    part = _PART.match(name)
    assert part is not None, "Spark numbers the files that it writes"
    return int(part[1]), int(part[2])


class HeldFrame:
    """Rows that Spark has computed and holds in memory, cut off from the plan that computed them.

    One job computes, keeps and counts them. A frame that is merely cached would be found by any equal plan, and
    looked for by every other.
    """

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame.localCheckpoint(eager=False)
        self._rdd: Any = self.frame._jdf.queryExecution().logical().rdd()
        try:
            self.rows = int(self._rdd.count())
        except BaseException:
            self._rdd.unpersist(False)
            raise
        self.size = self._bytes_in_memory()

    def release(self) -> None:
        self._rdd.unpersist(False)
        self.size = 0

    def _bytes_in_memory(self) -> int:
        """As Spark's storage says."""
        context: Any = self.frame.sparkSession.sparkContext._jsc.sc()
        # It is told after the job has ended.
        context.listenerBus().waitUntilEmpty()
        return int(context.statusStore().rdd(self._rdd.id()).memoryUsed()) if self.rows else 0


class FramePack:
    """A row pack, in memory or on disk."""

    def __init__(self, scratch: Scratch, held: HeldFrame, *, file: StagedFile | None = None) -> None:
        """`file` is where the same rows already are on disk."""
        self._scratch = scratch
        self._held: HeldFrame | None = held
        self._schema = held.frame.schema
        self.rows = held.rows
        self._files = None if file is None else [file]
        self._owns_files = file is None

    @property
    def size(self) -> int:
        return 0 if self._held is None else self._held.size

    @property
    def frame(self) -> DataFrame:
        if self._held is not None:
            return self._held.frame
        assert self._files is not None, "a pack is used after its release"
        return self._scratch.read(self._files, self._schema)

    def staged(self) -> list[StagedFile]:
        """The same rows on disk, which stay there until the run ends."""
        if self._files is None:
            self._files = self._scratch.stage(self.frame, "spilled")
        self._owns_files = False
        return self._files

    def spill(self) -> None:
        if self._files is None:
            self._files = self._scratch.stage(self.frame, "spilled")
        self._let_go()

    def release(self) -> None:
        self._let_go()
        if self._owns_files:
            for file in self._files or ():
                self._scratch.disk.remove(file.path, missing_ok=True)
            self._files = None

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPack:
    """Rows that nobody takes: only their number is of interest."""

    rows: int
    size: int = 0

    def spill(self) -> None:
        """There is nothing to move."""

    def release(self) -> None:
        """There is nothing to let go of."""


class StagedSupply:
    """Staged files, one pack each."""

    def __init__(self, scratch: Scratch, files: Sequence[StagedFile], schema: StructType) -> None:
        self._scratch = scratch
        self._files = list(files)
        self._schema = schema

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self._files)

    def take(self) -> FramePack | None:
        if not self._files:
            return None
        file = self._files.pop(0)
        return FramePack(self._scratch, HeldFrame(self._scratch.read([file], self._schema)), file=file)
