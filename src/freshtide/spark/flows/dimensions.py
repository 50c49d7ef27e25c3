"""Slowly changing dimensions: the new content of a dimension table, from what it holds and what has come in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from freshtide.flows.activities import SlowlyChanging
from freshtide.spark.schemas import quoted

FROM, TO, CURRENT = "valid_from", "valid_to", "is_current"
_THERE, _OLD, _TIMES, _WHICH = "__there", "__old_", "__times", "__which"


def updated_dimension(
    name: str, activity: SlowlyChanging, incoming: DataFrame, current: DataFrame | None, *, now: Column
) -> DataFrame:
    """All rows of the dimension after the update; `now` is from when on rows hold that do not say so themselves."""
    single = _one_row_per_key(name, activity, incoming)
    if activity.type == 1:
        return single if current is None else _overwritten(activity, single, current)
    begins = now if activity.as_of is None else F.col(quoted(activity.as_of)).cast("timestamp")
    values = [column for column in incoming.columns if column != activity.as_of]
    versions = single.select(*map(quoted, values), begins.alias(FROM))
    if current is None:
        return versions.select("*", F.lit(None).cast("timestamp").alias(TO), F.lit(True).alias(CURRENT))
    return _versioned(name, activity, versions, current, values)


def _one_row_per_key(name: str, activity: SlowlyChanging, incoming: DataFrame) -> DataFrame:
    """The rows as they are; two of one key are an error, as nobody can tell which of them holds."""
    times = F.count(F.lit(1)).over(Window.partitionBy(*map(quoted, activity.key)))
    twice = F.concat(F.lit(f"'{name}' got more than one row of a key: "), _key(activity))
    checked = F.when(F.col(_TIMES) > 1, F.raise_error(twice).cast("boolean")).otherwise(F.lit(True))
    return incoming.withColumn(_TIMES, times).where(checked).drop(_TIMES)


def _overwritten(activity: SlowlyChanging, incoming: DataFrame, current: DataFrame) -> DataFrame:
    joined = _beside(activity, incoming, current)
    keeps = F.col(_THERE).isNull() | (F.col(_OLD + _THERE).isNotNull() & ~_changed(activity, incoming.columns))
    known = set(current.columns)
    return joined.select(
        *(
            F.when(keeps, F.col(quoted(_OLD + column)) if column in known else F.lit(None))
            .otherwise(F.col(quoted(column)))
            .alias(column)
            for column in incoming.columns
        )
    )


def _versioned(
    name: str, activity: SlowlyChanging, versions: DataFrame, current: DataFrame, values: Sequence[str]
) -> DataFrame:
    """Closed versions stay; of each key that has changed, the open one is closed and another one opened."""
    joined = _beside(activity, versions, current.where(F.col(CURRENT)))
    both = F.col(_THERE).isNotNull() & F.col(_OLD + _THERE).isNotNull()
    changed = both & _changed(activity, values)
    early = F.concat(F.lit(f"'{name}' got a change that holds from before its last one: "), _key(activity))
    begins = F.when(changed & (F.col(FROM) <= F.col(_OLD + FROM)), F.raise_error(early).cast("timestamp")).otherwise(
        F.col(FROM)
    )
    old = _struct(
        {column: F.col(quoted(_OLD + column)) for column in (*values, FROM)},
        to=F.when(changed, begins),
        current=~changed,
    )
    new = _struct(
        {**{column: F.col(quoted(column)) for column in values}, FROM: begins},
        to=F.lit(None).cast("timestamp"),
        current=F.lit(True),
    )
    has_old, has_new = F.col(_OLD + _THERE).isNotNull(), F.col(_THERE).isNotNull() & (~both | changed)
    kept = F.filter(F.array(F.when(has_old, old), F.when(has_new, new)), lambda version: version.isNotNull())
    opened = joined.select(F.explode(kept).alias(_WHICH)).select(f"{_WHICH}.*")
    return opened.unionByName(current.where(~F.col(CURRENT)))


def _struct(values: dict[str, Column], *, to: Column, current: Column) -> Column:
    return F.struct(*(column.alias(name) for name, column in values.items()), to.alias(TO), current.alias(CURRENT))


def _beside(activity: SlowlyChanging, incoming: DataFrame, current: DataFrame) -> DataFrame:
    """Incoming and stored rows of a key in one row; the stored ones' columns carry a prefix."""
    stored = current.select(
        *(F.col(quoted(column)).alias(_OLD + column) for column in current.columns), F.lit(1).alias(_OLD + _THERE)
    )
    same = (F.col(quoted(key)).eqNullSafe(F.col(quoted(_OLD + key))) for key in activity.key)
    return incoming.withColumn(_THERE, F.lit(1)).join(stored, reduce(Column.__and__, same), "full")


def _changed(activity: SlowlyChanging, columns: Sequence[str]) -> Column:
    compared = activity.compare or tuple(column for column in columns if column not in activity.key)
    differences = (~F.col(quoted(column)).eqNullSafe(F.col(quoted(_OLD + column))) for column in compared)
    return reduce(Column.__or__, differences, F.lit(False))


def _key(activity: SlowlyChanging) -> Column:
    return F.to_json(F.struct(*map(quoted, activity.key)))
