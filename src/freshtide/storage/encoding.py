"""How the rows of a table are encoded in its files: as Parquet, unless a world is simulated that need not know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from freshtide.storage.statistics import delta_statistics, time_bounds
from freshtide.world import OpenFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """What a file says about its rows. `low` and `high` bound its time column, in microseconds."""

    rows: int
    low: int | None
    high: int | None
    stats: str
    """As an add action tells them."""


class RowEncoding(Protocol):
    """Between rows and files."""

    def encoded(self, rows: pa.Table) -> Any:
        """Bytes, or a buffer of them."""
        ...

    def footer(self, file: OpenFile, time_column: str | None) -> Footer: ...

    def row_count(self, file: OpenFile) -> int:
        """ArrowInvalid where the file is something else."""
        ...

    def rows(self, file: OpenFile, columns: Sequence[str] | None = None) -> pa.Table:
        """All columns of the file, or some."""
        ...


class Parquet:
    """What Spark, delta-rs and everybody else reads."""

    def encoded(self, rows: pa.Table) -> Any:
        content = pa.BufferOutputStream()
        pq.write_table(rows, content, compression="zstd")
        return content.getvalue()

    def footer(self, file: OpenFile, time_column: str | None) -> Footer:
        found = pq.read_metadata(file)
        low, high = time_bounds(found, time_column)
        return Footer(rows=found.num_rows, low=low, high=high, stats=delta_statistics(found))

    def row_count(self, file: OpenFile) -> int:
        return int(pq.read_metadata(file).num_rows)

    def rows(self, file: OpenFile, columns: Sequence[str] | None = None) -> pa.Table:
        return pq.ParquetFile(file).read(columns=columns)
