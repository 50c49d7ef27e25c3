"""Values that no table can hold, as conditions to ask of rows: those of a feed, or what a query made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from freshtide.spark.failures import SparkFailedError
from freshtide.spark.jvm import observed
from freshtide.spark.schemas import literal, quoted
from freshtide.storage import UnstorableError
from freshtide.storage.values import (
    BEYOND_YEARS,
    ESCAPED,
    LIKE_MISSING,
    LIKE_NONE,
    LONGEST_NAME,
    NO_NAME,
    TOO_LONG,
    folder_of,
)

# What Python and Arrow have dates for; Spark goes on to the year 294247.
_RANGES = {
    "timestamp": ("TIMESTAMP'0001-01-01T00:00:00Z'", "TIMESTAMP'9999-12-31T23:59:59.999999Z'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'0001-01-01T00:00:00'", "TIMESTAMP_NTZ'9999-12-31T23:59:59.999999'"),
    "date": ("DATE'0001-01-01'", "DATE'9999-12-31'"),
}
_TEXTS = ("string", "char", "varchar")
_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What may be wrong with the values of a column."""

    column: str
    condition: str
    """In SQL; true or false, never null."""
    words: str
    is_of_name: bool = False
    """Whether it is one of the name of a partition's folder."""

    def told(self) -> SparkColumn:
        """What is wrong with a row, in words; null where this is not."""
        value = sf.col(quoted(self.column)).cast("string")
        return sf.when(sf.expr(self.condition), told(f"column '{self.column}': '", value, f"' {self.words}"))


def told(before: str, value: SparkColumn, after: str) -> SparkColumn:
    """A sentence about a text, of which the beginning is shown."""
    return sf.concat(sf.lit(before), sf.substring(value, 1, _SHOWN), sf.lit(after))


def faults_of(types: Mapping[str, str], partitions: Sequence[str]) -> list[Fault]:
    """By the types of columns, in Spark's words; `partitions` are those whose values become names of folders."""
    found = []
    for column, type_ in types.items():
        bounds = _RANGES.get(type_.lower())
        if bounds is not None:
            found.append(_fault(column, f"{quoted(column)} NOT BETWEEN {bounds[0]} AND {bounds[1]}", BEYOND_YEARS))
        if column in partitions and type_.lower().startswith(_TEXTS):
            found += _faults_of_names(column)
    return found


def faults_of_result(schema: StructType, partitions: Sequence[str]) -> list[Fault]:
    return faults_of({field.name: field.dataType.simpleString() for field in schema}, partitions)


def any_of(faults: Iterable[Fault]) -> str:
    """The condition under which a row has one of the faults."""
    return " OR ".join(fault.condition for fault in faults) or "false"


class FaultWatch:
    """Counts the faults of rows on their way to where Spark writes them."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = {f"fault{place}": fault for place, fault in enumerate(faults)}
        self._observation = Observation()

    def watched(self, frame: DataFrame) -> DataFrame:
        """The frame, with nothing in place of texts that Spark can make no folder of: it would not get to an end."""
        if not self._faults:
            return frame
        counts = (sf.expr(f"count_if({fault.condition})").alias(name) for name, fault in self._faults.items())
        by_column: dict[str, list[Fault]] = defaultdict(list)
        for fault in self._faults.values():
            if fault.is_of_name:
                by_column[fault.column].append(fault)
        storable = {
            column: sf.expr(f"CASE WHEN {any_of(faults)} THEN NULL ELSE {quoted(column)} END")
            for column, faults in by_column.items()
        }
        return frame.observe(self._observation, *counts).withColumns(storable)

    def require_none(self, *, rows: int) -> None:
        """UnstorableError if there was one among so many rows that have passed."""
        if not self._faults or not rows:
            return
        figures = observed(self._observation, tuple(self._faults))
        if figures is None:
            raise SparkFailedError("Spark does not say whether the rows that it has written can be stored.")
        for name, fault in self._faults.items():
            if figures[name]:
                raise UnstorableError(f"A value of column '{fault.column}' {fault.words}.")


def _faults_of_names(column: str) -> list[Fault]:
    value = quoted(column)
    room = LONGEST_NAME - len(folder_of({column: "x"}).encode()) + len("x/")
    length = f"octet_length({value}) + 2 * regexp_count({value}, {literal(ESCAPED)})"
    return [
        _fault(column, f"{value} IN ({', '.join(map(literal, LIKE_MISSING))})", LIKE_NONE),
        _fault(column, f"contains({value}, chr(0))", NO_NAME),
        _fault(column, f"{length} > {room}", TOO_LONG),
    ]


def _fault(column: str, condition: str, words: str) -> Fault:
    return Fault(
        column=column, condition=f"coalesce({condition}, false)", words=words, is_of_name=words != BEYOND_YEARS
    )
