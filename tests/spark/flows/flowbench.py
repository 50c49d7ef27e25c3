"""Flows over small files for the tests of this folder, run through the front door and read back by other readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from freshtide.flows import Activity, FlowGraph, Node, Recordset
from freshtide.flows.activities import OUT, Read, Write
from freshtide.spark import SparkSession
from freshtide.spark.flows import FlowReport, Recordsets, run_flow
from freshtide.storage import Store

Row = tuple[Any, ...]


def node(name: str, activity: Activity, *inputs: str) -> Node:
    """An activity and where its rows come from: `activity`, or `activity.output`."""
    return Node(name=name, activity=activity, inputs=tuple(_port(each) for each in inputs))


def graph(*nodes: Node, name: str = "flow") -> FlowGraph:
    return FlowGraph(name=name, nodes={each.name: each for each in nodes})


def read(name: str) -> Node:
    """A source: the files of its name."""
    return node(name, Read(source=Recordset(files=f"{name}.parquet")))


def write(table: str, source: str, **how: Any) -> Node:
    return node(f"write {table}", Write(target=Recordset(table=table), **how), source)


def _port(text: str) -> tuple[str, str]:
    producer, _, port = text.partition(".")
    return producer, port or OUT


class FlowBench:
    """A folder with files to read and tables to write."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root
        self.scratch = root / "scratch"
        self.store = Store(root / "tables")

    @property
    def held(self) -> set[int]:
        """What Spark keeps in memory or on disk, by its number; other tests may have left something."""
        return set(self.spark.sparkContext._jsc.getPersistentRDDs())

    def put(self, name: str, columns: Mapping[str, Iterable[Any]]) -> Path:
        path = self.root / f"{name}.parquet"
        pq.write_table(pa.table({column: list(values) for column, values in columns.items()}), path)
        return path

    def put_numbers(self, name: str, columns: Mapping[str, Iterable[int | None]]) -> Path:
        """The same, of whole numbers even where there are none."""
        path = self.root / f"{name}.parquet"
        pq.write_table(pa.table({column: pa.array(values, pa.int64()) for column, values in columns.items()}), path)
        return path

    def run(self, flow: FlowGraph, **how: Any) -> FlowReport:
        return run_flow(flow, self.spark, store=self.store, root=self.root, scratch=self.scratch, **how)

    def recordsets(self) -> Recordsets:
        return Recordsets(session=self.spark, store=self.store, root=self.root)

    def rows(self, table: str) -> Counter[Row]:
        """The rows of a table, as another reader finds them."""
        return Counter(self.frame(table).rows())

    def frame(self, table: str) -> pl.DataFrame:
        return pl.read_delta(str(self.root / "tables" / table))

    def restarted(self) -> FlowBench:
        """The same folder, as another process would find it."""
        return FlowBench(self.spark, self.root)
