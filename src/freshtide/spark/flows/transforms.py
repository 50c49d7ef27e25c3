"""What each kind of activity does to rows: DataFrames in, a DataFrame per output out.

The same functions serve packs, whole subflows and the analysis of schemas. Nothing here runs a job. What an activity
finds wrong with a row is raised by the row itself, when Spark comes to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import MapType

from freshtide.core.errors import FreshtideError
from freshtide.flows import Node
from freshtide.flows.activities import (
    OTHERWISE,
    OUT,
    QUARANTINE,
    Activity,
    Aggregate,
    Deduplicate,
    Difference,
    Expression,
    Filter,
    Function,
    Join,
    NotNull,
    Pivot,
    Router,
    Sort,
    SortedUnion,
    SurrogateKey,
    Union,
)
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.flows.moments import Moment, fixed_time
from freshtide.spark.schemas import quoted

Frames = Mapping[str, DataFrame]
"""By output."""

_ROUTE, _RANK, _KEY = "__route", "__rank", "__key_"
_ORDER = re.compile(r"(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?", re.IGNORECASE | re.DOTALL)


class FunctionError(FreshtideError):
    """A function of the user's that failed, or did not return a DataFrame."""


def transform(node: Node, inputs: Sequence[DataFrame], *, moment: Moment, lookup: DataFrame | None = None) -> Frames:
    """What comes out of an activity that has outputs.

    `moment` is the time of the run, `lookup` the keys that a surrogate key is taken from.
    """
    activity = moment.in_texts(node.activity, [column for frame in inputs for column in frame.columns])
    if isinstance(activity, SurrogateKey):
        assert lookup is not None, "surrogate keys come from a lookup table"
        return {OUT: with_surrogate_keys(activity, inputs[0], lookup)}
    return _TRANSFORMS[type(activity)](node.name, activity, inputs)


def with_surrogate_keys(activity: SurrogateKey, frame: DataFrame, lookup: DataFrame) -> DataFrame:
    """The rows with the surrogate key in place of the production key; without a production key it is NULL."""
    keys = lookup.select(
        *(F.col(quoted(name)).alias(_KEY + name) for name in activity.key),
        F.col(quoted(activity.column)).alias(_KEY),
    )
    matches = (F.col(quoted(name)) == F.col(quoted(_KEY + name)) for name in activity.key)
    kept = [F.col(quoted(name)) for name in frame.columns if name not in {*activity.key, activity.column}]
    return frame.join(keys, reduce(Column.__and__, matches), "left").select(F.col(_KEY).alias(activity.column), *kept)


def tie_breakers(frame: DataFrame, *, but: Iterable[str]) -> list[Column]:
    """What tells rows apart that are equal otherwise: who comes first must not depend on how they were divided."""
    known = set(but)
    return [
        F.col(quoted(field.name))
        for field in frame.schema
        if field.name not in known and not isinstance(field.dataType, MapType)
    ]


def production_keys(activity: SurrogateKey, frame: DataFrame) -> DataFrame:
    """The production keys of the rows, whole ones only."""
    return frame.select(*map(quoted, activity.key)).dropna()


def _filter(_: str, activity: Filter, inputs: Sequence[DataFrame]) -> Frames:
    return {OUT: inputs[0].where(activity.condition)}


def _not_null(_: str, activity: NotNull, inputs: Sequence[DataFrame]) -> Frames:
    (frame,) = inputs
    whole = reduce(Column.__and__, (F.col(quoted(name)).isNotNull() for name in activity.columns))
    return {OUT: frame.where(whole), QUARANTINE: frame.where(~whole)}


def _expression(_: str, activity: Expression, inputs: Sequence[DataFrame]) -> Frames:
    (frame,) = inputs
    computed = {name: F.expr(text).alias(name) for name, text in activity.columns.items()}
    if activity.only:
        return {OUT: frame.select(*computed.values())}
    return {OUT: frame.withColumns(computed)}


def _function(name: str, activity: Function, inputs: Sequence[DataFrame]) -> Frames:
    try:
        result = activity.function(inputs[0])
    except Exception as error:
        raise FunctionError(f"{activity.name}() of activity '{name}' failed: {_told(error)}") from error
    if not isinstance(result, DataFrame):
        raise FunctionError(
            f"{activity.name}() of activity '{name}' returned {type(result).__name__}, not a DataFrame.",
            way_out="The function of an activity takes a DataFrame and returns one.",
        )
    return {OUT: fixed_time(result)}


def _join(_: str, activity: Join, inputs: Sequence[DataFrame]) -> Frames:
    left, right = inputs
    if activity.method == "sort-merge":
        right = right.hint("merge")
    return {OUT: left.join(right, list(activity.on), activity.how)}


def _union(_: str, __: Union, inputs: Sequence[DataFrame]) -> Frames:
    return {OUT: reduce(DataFrame.unionByName, inputs)}


def _sorted_union(_: str, activity: SortedUnion, inputs: Sequence[DataFrame]) -> Frames:
    return {OUT: reduce(DataFrame.unionByName, inputs).orderBy(*orders(activity.by))}


def _difference(_: str, activity: Difference, inputs: Sequence[DataFrame]) -> Frames:
    frame, other = inputs
    gone = other.select(*(F.col(quoted(name)).alias(_KEY + name) for name in activity.on))
    # As in EXCEPT, NULL is a key like any other.
    same = (F.col(quoted(name)).eqNullSafe(F.col(quoted(_KEY + name))) for name in activity.on)
    return {OUT: frame.join(gone, reduce(Column.__and__, same), "anti")}


def _deduplicate(_: str, activity: Deduplicate, inputs: Sequence[DataFrame]) -> Frames:
    (frame,) = inputs
    if not activity.key:
        return {OUT: frame.distinct()}
    order = [*orders(activity.order), *tie_breakers(frame, but=activity.key)] or [F.lit(1)]
    first = Window.partitionBy(*map(quoted, activity.key)).orderBy(*order)
    ranked = frame.withColumn(_RANK, F.row_number().over(first))
    return {OUT: ranked.where(f"{_RANK} = 1").drop(_RANK)}


def _sort(_: str, activity: Sort, inputs: Sequence[DataFrame]) -> Frames:
    return {OUT: inputs[0].orderBy(*orders(activity.by))}


def _aggregate(_: str, activity: Aggregate, inputs: Sequence[DataFrame]) -> Frames:
    return {OUT: inputs[0].groupBy(*map(quoted, activity.by)).agg(*_aggregates(activity.columns))}


def _pivot(_: str, activity: Pivot, inputs: Sequence[DataFrame]) -> Frames:
    grouped = inputs[0].groupBy(*map(quoted, activity.by)).pivot(activity.column, list(activity.values))
    return {OUT: grouped.agg(*_aggregates(activity.columns))}


def _router(name: str, activity: Router, inputs: Sequence[DataFrame]) -> Frames:
    (frame,) = inputs
    conditions = {route: F.coalesce(F.expr(text), F.lit(False)) for route, text in activity.routes.items()}
    matching = F.concat_ws("' and '", *(F.when(condition, F.lit(route)) for route, condition in conditions.items()))
    matches = reduce(Column.__add__, (condition.cast("int") for condition in conditions.values()))
    route = F.when(
        matches > 1, _raised(F.concat(F.lit(f"'{name}' would send a row to '"), matching, F.lit("': "), _row(frame)))
    )
    for each, condition in conditions.items():
        route = route.when(condition, F.lit(each))
    routed = frame.withColumn(_ROUTE, route.otherwise(F.lit(OTHERWISE)))
    return {port: routed.where(F.col(_ROUTE) == port).drop(_ROUTE) for port in activity.ports}


def _told(error: Exception) -> str:
    return plain_words(error) if isinstance(error, SPARK_ERRORS) else f"{type(error).__name__}: {error}"


def _raised(message: Column) -> Column:
    return F.raise_error(message).cast("string")


def _row(frame: DataFrame) -> Column:
    return F.to_json(F.struct(*map(quoted, frame.columns)))


def _aggregates(columns: Mapping[str, str]) -> list[Column]:
    return [F.expr(text).alias(name) for name, text in columns.items()]


def orders(by: Iterable[str]) -> list[Column]:
    """Columns or expressions, each with an optional `ASC` or `DESC` and `NULLS FIRST` or `LAST` after it."""
    return [_order(text) for text in by]


def _order(text: str) -> Column:
    parsed = _ORDER.fullmatch(text.strip())
    assert parsed is not None, "every text is an expression with nothing after it, at least"
    direction = (parsed[2] or "asc").lower()
    # Spark puts NULLs where they are smallest.
    nulls = (parsed[3] or ("first" if direction == "asc" else "last")).lower()
    ordered: Column = getattr(F.expr(parsed[1]), f"{direction}_nulls_{nulls}")()
    return ordered


_TRANSFORMS: Mapping[type[Activity], Callable[[str, Any, Sequence[DataFrame]], Frames]] = {
    Filter: _filter,
    NotNull: _not_null,
    Expression: _expression,
    Function: _function,
    Join: _join,
    Union: _union,
    SortedUnion: _sorted_union,
    Difference: _difference,
    Deduplicate: _deduplicate,
    Sort: _sort,
    Aggregate: _aggregate,
    Pivot: _pivot,
    Router: _router,
}
