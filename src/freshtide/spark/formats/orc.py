"""ORC: columns are found by name, with the types that they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import orc
from pyspark.sql import DataFrame, SparkSession

from freshtide.core.arrivals import Arrival
from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Column, Feed
from freshtide.feeds.formats.orc import OrcFormat, file_schema
from freshtide.spark.formats.format import Layout, paths_of
from freshtide.spark.jvm import jvm_of
from freshtide.spark.typedfiles import TypedLayout, local_places, present_columns, spark_types


class OrcReading:
    options = OrcFormat
    is_parsed = True

    def layout(self, feed: Feed, file: Arrival, columns: tuple[Column, ...]) -> Layout:
        schema = file_schema(file.position)
        present, own = present_columns(feed, file, columns, spark_types(file, schema))
        return OrcLayout(feed=feed, present=present, own=own, local=local_places(feed, schema))

    def column_types(self, _session: SparkSession, file: Arrival) -> Mapping[str, str]:
        return spark_types(file, file_schema(file.position))

    def write_known_good(self, path: Path) -> None:
        orc.write_table(pa.table({"n": [1]}), path)

    def read_known_good(self, session: SparkSession, path: Path) -> DataFrame:
        return session.read.orc(str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcLayout(TypedLayout):
    def frame(self, session: SparkSession, files: Sequence[Arrival]) -> DataFrame:
        if any("timestamp" in type_ for type_ in self.own):
            _require_utc(session)
        # With other types than its own the library would convert a column, and make nothing of what does not fit.
        return session.read.schema(self.ddl).orc(paths_of(files))


class TimeZoneError(FreshtideError):
    """Spark would read other times than there are in files."""


def _require_utc(session: SparkSession) -> None:
    """The library behind ORC goes through times of the zone that the JVM is in, and those may have gaps."""
    zone = jvm_of(session).time_zone
    if zone not in ("UTC", "GMT", "Etc/UTC", "Z"):
        raise TimeZoneError(
            f"Spark runs in the time zone {zone}, and would shift times in ORC files.",
            way_out="Start it with `-Duser.timezone=UTC` in spark.driver.extraJavaOptions and "
            "spark.executor.extraJavaOptions, as Freshtide does by itself.",
        )
