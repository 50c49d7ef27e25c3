"""Checking that a derived table holds what its definition says, by computing it from base tables."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DoubleType, FloatType, MapType

from freshtide.spark.asof import TableStates
from freshtide.spark.schemas import quoted
from freshtide.spark.sessions import compiled_plans

_EXAMPLES = 3
# Sums of floating-point numbers depend on the order of the rows; anything beyond that is a difference.
_RELATIVE_NOISE = 1e-9
# From so many bytes on compiling the plans pays.
_LARGE = 16_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What an audit found. `freshness` is in microseconds, None for a table that has never been updated."""

    table: str
    freshness: int | None
    rows: int
    missing: int = 0
    """Rows that should be there and are not."""
    unexpected: int = 0
    """Rows that are there and should not be."""
    examples: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.missing and not self.unexpected


class Audit:
    """Compares tables with their definitions."""

    def __init__(self, states: TableStates) -> None:
        self._states = states

    def check(self, name: str) -> AuditResult:
        """Expand the view down to base tables, recompute it as its last commit says and compare, row by row."""
        snapshot = self._states.pin(name)
        if snapshot is None or snapshot.freshness is None:
            return AuditResult(table=name, freshness=None, rows=0)
        stored = self._states.newest(name)
        expected = self._states.recomputed(name).select(*(quoted(c) for c in stored.columns))
        differences = _differences(_comparable(expected), _comparable(stored))
        large = self._states.bytes_read > _LARGE
        with compiled_plans(self._states.session) if large else nullcontext():
            missing, unexpected, examples = _outcome(differences)
        return AuditResult(
            table=name,
            freshness=snapshot.freshness,
            rows=snapshot.rows,
            missing=missing,
            unexpected=unexpected,
            examples=examples,
        )


def _outcome(differences: DataFrame) -> tuple[int, int, tuple[str, ...]]:
    """How many rows are missing, how many are unexpected, and some of them."""
    more, fewer = sf.greatest("_balance", sf.lit(0)), sf.greatest(-sf.col("_balance"), sf.lit(0))
    missing, unexpected = differences.agg(
        sf.coalesce(sf.sum(more), sf.lit(0)), sf.coalesce(sf.sum(fewer), sf.lit(0))
    ).collect()[0]
    return missing, unexpected, tuple(_examples(differences)) if missing or unexpected else ()


def _examples(differences: DataFrame) -> list[str]:
    found = []
    for row in differences.limit(_EXAMPLES).collect():
        values = {key: value for key, value in row.asDict().items() if key != "_balance"}
        found.append(f"{'missing' if row['_balance'] > 0 else 'unexpected'}: {values}")
    return found


def _differences(expected: DataFrame, stored: DataFrame) -> DataFrame:
    """Rows that occur more often on one side; `_balance` is how much more often they are expected."""
    columns = expected.columns
    both = expected.withColumn("_side", sf.lit(1)).unionByName(stored.withColumn("_side", sf.lit(-1)))
    balance = both.groupBy(*(quoted(column) for column in columns)).agg(sf.sum("_side").alias("_balance"))
    unequal = balance.where(sf.col("_balance") != 0)
    floats = [field.name for field in expected.schema if _is_float(field.dataType)]
    return _without_noise(unequal, columns, floats) if floats else unequal


def _without_noise(unequal: DataFrame, columns: list[str], floats: list[str]) -> DataFrame:
    """Strike out pairs of rows that differ by rounding alone.

    Rows that agree in all other columns are lined up by their numbers on both sides and compared place by place.
    """
    exact = [quoted(column) for column in columns if column not in floats]
    numbers = [quoted(column) for column in floats]
    copies = unequal.withColumn("_copy", sf.explode(sf.sequence(sf.lit(1), sf.abs("_balance"))))
    sides = copies.withColumn("_balance", sf.signum("_balance").cast("int"))
    place = Window.partitionBy(*exact, "_balance").orderBy(*numbers)
    lined_up = sides.withColumn("_place", sf.row_number().over(place))
    pair = Window.partitionBy(*exact, "_place")
    close: list[Column] = [sf.count(sf.lit(1)).over(pair) == 2]
    for number in numbers:
        low, high = sf.min(number).over(pair), sf.max(number).over(pair)
        nulls = sf.count(number).over(pair)
        within = high - low <= sf.lit(_RELATIVE_NOISE) * sf.greatest(sf.abs(low), sf.abs(high))
        close.append((nulls == 0) | ((nulls == 2) & (within | (low.eqNullSafe(high)))))
    rounding_only = reduce(lambda left, right: left & right, close)
    kept = lined_up.withColumn("_noise", rounding_only).where(~sf.col("_noise"))
    return kept.drop("_noise", "_place", "_copy")


def _comparable(frame: DataFrame) -> DataFrame:
    """Maps cannot be grouped by: compare them as their sorted entries."""
    return frame.select(
        *(
            sf.array_sort(sf.map_entries(quoted(field.name))).alias(field.name)
            if isinstance(field.dataType, MapType)
            else sf.col(quoted(field.name))
            for field in frame.schema
        )
    )


def _is_float(kind: DataType) -> bool:
    return isinstance(kind, FloatType | DoubleType)
