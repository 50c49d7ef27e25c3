"""Slowly changing dimensions: the new content of a dimension table, from what it holds and what has come in.

What comes in may have many rows of a key, as after an outage. They are applied one after another: by the time from
which on they hold (`as_of`), then by `order`, and among equals by their values, so that the result does not depend on
how the rows were divided into runs, files and partitions. A row that changes nothing leaves no trace.

- Type 1 keeps the last row of a key. What is stored comes before all that comes in.
- Type 2 keeps versions. One that comes late is put in its place among those that are stored. Of several that begin at
  the same moment the last holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from freshtide.flows.activities import SlowlyChanging
from freshtide.spark.flows.transforms import orders, tie_breakers
from freshtide.spark.schemas import quoted

FROM, TO, CURRENT = "valid_from", "valid_to", "is_current"
_STORED, _SEVERAL, _LAST, _CHANGED = "__stored", "__several", "__last", "__changed"


def updated_dimension(
    name: str,
    activity: SlowlyChanging,
    incoming: DataFrame,
    current: DataFrame | None,
    *,
    now: Column,
    order: Sequence[str] = (),
) -> DataFrame:
    """All rows of the dimension after the update.

    `now` is from when on rows hold that do not say so themselves, `order` what they come in by where the activity
    does not say.
    """
    ordered = activity.order or order
    if activity.as_of is None and not ordered:
        incoming = _one_row_per_key(name, activity, incoming)
    if activity.type == 1:
        return _overwritten(activity, incoming, current, ordered)
    begins = now if activity.as_of is None else F.col(quoted(activity.as_of)).cast("timestamp")
    kept = [quoted(column) for column in incoming.columns if column != activity.as_of]
    versions = incoming.select(*kept, begins.alias(FROM))
    # The column that says since when they hold is the first that they are ordered by already.
    within = [each for each in ordered if each != activity.as_of]
    return _versioned(activity, versions, None if current is None else current.drop(TO, CURRENT), within)


def _one_row_per_key(name: str, activity: SlowlyChanging, incoming: DataFrame) -> DataFrame:
    """One row of each key; two that differ are an error, as nobody can tell which of them holds."""
    as_text = F.to_json(F.struct(*map(quoted, incoming.columns)))
    several = F.size(F.collect_set(as_text).over(_of_key(activity))) > 1
    key = F.to_json(F.struct(*map(quoted, activity.key)))
    way_out = ". 'order' or 'as_of' can say which of them is the last."
    told = F.concat(F.lit(f"'{name}' got more than one row of a key: "), key, F.lit(way_out))
    checked = F.when(F.col(_SEVERAL), F.raise_error(told).cast("boolean")).otherwise(F.lit(True))
    return incoming.withColumn(_SEVERAL, several).where(checked).drop(_SEVERAL).dropDuplicates(list(activity.key))


def _overwritten(
    activity: SlowlyChanging, incoming: DataFrame, current: DataFrame | None, order: Sequence[str]
) -> DataFrame:
    rows = _together(incoming, current)
    turns = _of_key(activity).orderBy(F.col(_STORED).desc(), *orders(order), *tie_breakers(incoming, but=activity.key))
    changes = rows.withColumn(_CHANGED, _changed(activity, rows, turns)).where(F.col(_CHANGED))
    is_last = F.lead(F.lit(1)).over(turns).isNull()
    return changes.withColumn(_LAST, is_last).where(F.col(_LAST)).drop(_STORED, _CHANGED, _LAST)


def _versioned(
    activity: SlowlyChanging, versions: DataFrame, current: DataFrame | None, order: Sequence[str]
) -> DataFrame:
    """All versions of each key, old and new, from one to the next; the last is open."""
    rows = _together(versions, current)
    turns = _of_key(activity).orderBy(
        F.col(FROM), *orders(order), *tie_breakers(versions, but=(*activity.key, FROM)), F.col(_STORED)
    )
    # A version that ends when it begins was never there.
    lasts = ~F.lead(F.col(FROM)).over(turns).eqNullSafe(F.col(FROM)) | F.lead(F.lit(1)).over(turns).isNull()
    rows = rows.withColumn(_LAST, lasts).where(F.col(_LAST)).drop(_LAST)
    # Versions that are stored next to each other stay so, even if what counts as a change has changed since.
    were_stored = F.col(_STORED) & F.coalesce(F.lag(F.col(_STORED)).over(turns), F.lit(False))
    changes = rows.withColumn(_CHANGED, _changed(activity, rows, turns) | were_stored).where(F.col(_CHANGED))
    ends, is_open = F.lead(F.col(FROM)).over(turns), F.lead(F.lit(1)).over(turns).isNull()
    columns = [quoted(column) for column in rows.columns if column not in {FROM, _STORED}]
    return changes.select(*columns, FROM, ends.alias(TO), is_open.alias(CURRENT))


def _together(incoming: DataFrame, current: DataFrame | None) -> DataFrame:
    """Incoming and stored rows, told apart; either may have columns that the other lacks."""
    fresh = incoming.withColumn(_STORED, F.lit(False))
    if current is None:
        return fresh
    return fresh.unionByName(current.withColumn(_STORED, F.lit(True)), allowMissingColumns=True)


def _of_key(activity: SlowlyChanging) -> WindowSpec:
    return Window.partitionBy(*map(quoted, activity.key))


def _changed(activity: SlowlyChanging, rows: DataFrame, turns: WindowSpec) -> Column:
    """Whether a row differs from the one of its key before it, or is the first."""
    apart = {*activity.key, FROM, _STORED}
    compared = activity.compare or tuple(column for column in rows.columns if column not in apart)
    is_first = F.lag(F.lit(1)).over(turns).isNull()
    if not compared:
        return is_first
    values = F.struct(*map(quoted, compared))
    return is_first | ~values.eqNullSafe(F.lag(values).over(turns))
