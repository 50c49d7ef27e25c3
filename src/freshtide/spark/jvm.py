"""The JVM behind a session: what every update asks of it, looked up once, and what PySpark would take a detour for.

Each call is a trip to the JVM and back, and so is each part of the name of a class and each element of a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.java_gateway import JavaObject, JVMView
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.types import StructType
from pyspark.util import _load_from_socket

from freshtide.spark.schemas import arrow_schema_of

# A few for each table that is read again and again.
_KEPT = 1_024
_UNLIMITED = 2**62
# Up to so many bytes rows go with a call; more of them through a file, as PySpark does it.
_WITH_THE_CALL = 1_000_000
_WITHOUT_A_JOB = "LocalTableScan"


class Jvm:
    """Methods and texts that stay where they are."""

    def __init__(self, names: JVMView) -> None:
        spark = names.org.apache.spark
        converters = getattr(spark.sql.execution.arrow, "ArrowConverters$")
        self._in_lines = names.java.util.regex.Pattern.compile("\n").splitAsStream
        self._texts = spark.sql.Encoders.STRING()
        self._to_arrow = getattr(converters, "MODULE$").toBatchWithSchemaIterator
        self._from_arrow = getattr(converters, "MODULE$").toDataFrame
        self._batches = getattr(converters, "MODULE$").getBatchesFromStream
        self._channel = names.java.nio.channels.Channels.newChannel
        self._stream = names.java.io.ByteArrayInputStream
        self._serve = spark.api.python.PythonRDD.serveIterator
        self._as_sequence = spark.api.python.PythonUtils.toSeq
        modes = getattr(spark.sql.execution, "CommandExecutionMode$")
        self._run_no_command = getattr(modes, "MODULE$").SKIP()
        self._frame_of = spark.sql.classic.Dataset.ofRows
        self._file = names.java.io.File
        self.time_zone = str(names.java.util.TimeZone.getDefault().getID())
        """Which one times go through that have none."""
        self._sequence = lru_cache(maxsize=_KEPT)(lambda texts: self._as_sequence(list(texts)))
        parsed, expression = spark.sql.types.DataType.fromJson, spark.sql.functions.expr
        # Not by themselves: what remembers calls would ask them for their documentation, which Java has none of.
        self._type = lru_cache(maxsize=_KEPT)(lambda text: parsed(text))  # noqa: PLW0108
        self._column = lru_cache(maxsize=_KEPT)(lambda text: expression(text))  # noqa: PLW0108
        self._columns = lru_cache(maxsize=_KEPT)(lambda texts: self._as_sequence([self._column(one) for one in texts]))

    def lines(self, session: SparkSession, lines: Sequence[bytes]) -> DataFrame:
        """A frame of one column, `value`; there is at least one line, and none is empty."""
        values = self._in_lines(b"\n".join(lines).decode()).toList()
        return DataFrame(session._jsparkSession.createDataset(values, self._texts), session)

    def select(self, frame: DataFrame, expressions: Sequence[str]) -> DataFrame:
        """`frame.selectExpr(*expressions)`, for expressions that come again."""
        return DataFrame(frame._jdf.selectExpr(self._sequence(tuple(expressions))), frame.sparkSession)

    def renamed(self, frame: DataFrame, names: Sequence[str]) -> DataFrame:
        """`frame.toDF(*names)`, for names that come again."""
        return DataFrame(frame._jdf.toDF(self._sequence(tuple(names))), frame.sparkSession)

    def group(self, frame: DataFrame, groups: Sequence[str], figures: Sequence[str]) -> DataFrame:
        """`frame.groupBy(*groups).agg(*figures)`, for expressions that come again; there is at least one figure."""
        grouped = frame._jdf.groupBy(self._columns(tuple(groups)))
        first, *others = figures
        return DataFrame(grouped.agg(self._column(first), self._columns(tuple(others))), frame.sparkSession)

    def rows(self, session: SparkSession, values: pa.Table, schema: StructType) -> DataFrame:
        """`session.createDataFrame(values, schema)`, a fifth of its calls for rows that are few."""
        if not schema.fields or values.nbytes > _WITH_THE_CALL:
            return session.createDataFrame(values, schema=schema)
        sink, rows = pa.BufferOutputStream(), values.cast(arrow_schema_of(schema))
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
        batches = self._batches(self._channel(self._stream(sink.getvalue().to_pybytes())))
        made = self._from_arrow(batches, self._type(schema.json()), session._jsparkSession, "UTC", True, False)
        frame = DataFrame(made, session)
        frame._schema = schema
        return frame

    def parquet(self, session: SparkSession, schema: StructType, folder: str, paths: Sequence[str]) -> DataFrame:
        """The rows of files below a folder, whose names may tell more columns."""
        listed = "\n".join(paths)
        files = list(paths) if listed.count("\n") >= len(paths) else self._in_lines(listed).toList()
        # Without basePath the partition columns would vanish; without a schema Spark would open every footer.
        reader = session._jsparkSession.read().schema(self._type(schema.json())).option("basePath", folder)
        return DataFrame(reader.parquet(self._as_sequence(files)), session)

    def file_uri(self, path: str) -> str:
        """A path as Spark's metadata column spells it."""
        return str(self._file(path).toURI().toString())

    def parse(self, session: SparkSession, text: str) -> JavaObject:
        """The plan of a text, as it is written."""
        return session._jsparkSession.sessionState().sqlParser().parsePlan(text)

    def analyse(self, session: SparkSession, parsed: JavaObject) -> JavaObject:
        """The plan with everything that it refers to. A command is not carried out, as `session.sql` would."""
        return session._jsparkSession.sessionState().executePlan(parsed, self._run_no_command).analyzed()

    def frame(self, session: SparkSession, plan: JavaObject) -> DataFrame:
        return DataFrame(self._frame_of(session._jsparkSession, plan), session)

    def serve_arrow(self, rows: JavaObject, schema: JavaObject) -> tuple[Any, Any, JavaObject]:
        """Serve the rows of an iterator as streams of Arrow at a local socket: its port, its secret, its server."""
        streams = self._to_arrow(rows, schema, _UNLIMITED, _UNLIMITED, "UTC", True, False)
        port, secret, server = self._serve(streams, "rows")
        return port, secret, server


def block_folders(session: SparkSession) -> list[Path]:
    """The folders that Spark's driver keeps blocks in."""
    context: Any = session.sparkContext
    held = context._jsc.sc().env()
    # By their fields: asked for a method, py4j lists those of the class, and not all classes that they name are there.
    for name, field in (("SparkEnv", "blockManager"), ("storage.BlockManager", "diskBlockManager")):
        held = _field(context._jvm, held, name, field)
    return [Path(folder.getPath()) for folder in _field(context._jvm, held, "storage.DiskBlockManager", "localDirs")]


def _field(names: Any, of: JavaObject, owner: str, name: str) -> Any:
    field = names.java.lang.Class.forName(f"org.apache.spark.{owner}").getDeclaredField(name)
    field.setAccessible(True)
    return field.get(of)


def jvm_of(session: SparkSession) -> Jvm:
    names = session.sparkContext._jvm
    assert names is not None
    return _jvm(names)


_jvm = lru_cache(maxsize=1)(Jvm)


def observed(observation: Observation, figures: Sequence[str]) -> dict[str, Any] | None:
    """The figures by name, once the rows have passed; None where Spark saw beforehand that there is none to read."""
    watching = observation._jo
    if watching is None or not watching.future().isCompleted():
        return None
    row = watching.getRow()
    if row.length() != len(figures):
        return None
    return {name: row.get(place) for place, name in enumerate(figures)}


def collected(frame: DataFrame) -> pa.Table:
    """All rows, as `DataFrame.toArrow` gives them.

    Spark computes over rows that it was handed while it plans. `toArrow` would then still run a job to fetch them,
    which takes longer than everything else: what is there already is fetched without one.
    """
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.nodeName() != _WITHOUT_A_JOB:
        return frame.toArrow()
    port, secret, server = jvm_of(frame.sparkSession).serve_arrow(plan.rows().iterator(), plan.schema())
    with _load_from_socket((port, secret), NoOpSerializer()) as received:
        tables = [pa.ipc.open_stream(batch).read_all() for batch in received]
    server.getResult()
    return pa.concat_tables(tables) if tables else arrow_schema_of(frame.schema).empty_table()
