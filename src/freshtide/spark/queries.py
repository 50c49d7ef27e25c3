"""Running a table's query over DataFrames that stand in for its sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from freshtide.core.errors import FreshtideError
from freshtide.core.tables import FunctionQuery, Query, SourceReference, SqlQuery
from freshtide.spark.failures import SPARK_ERRORS, plain_words


class QueryError(FreshtideError):
    """A question that Spark cannot answer."""


class QueryResultError(FreshtideError):
    """A table function that did not return a DataFrame."""


def source_names(query: Query) -> tuple[str, ...]:
    """The source behind each place, in order."""
    if isinstance(query, SqlQuery):
        return tuple(reference.source for reference in query.references)
    return tuple(query.parameters.values())


def evaluate(session: SparkSession, query: Query, frames: Sequence[DataFrame]) -> DataFrame:
    """The query's result with one frame in each place that names a source."""
    if isinstance(query, FunctionQuery):
        result = query.function(**dict(zip(query.parameters, frames, strict=True)))
        if not isinstance(result, DataFrame):
            name = getattr(query.function, "__name__", "the function")
            raise QueryResultError(
                f"{name}() returned {type(result).__name__}, not a DataFrame.",
                way_out="A table function takes DataFrames and returns one.",
            )
        return result
    return session.sql(_bound_text(query, frames))


def evaluate_by_source(session: SparkSession, query: Query, frame_of: Callable[[str], DataFrame]) -> DataFrame:
    """The query's result with the same frame wherever a source is named."""
    names = source_names(query)
    frames = {name: frame_of(name) for name in dict.fromkeys(names)}
    return evaluate(session, query, [frames[name] for name in names])


def run_query(
    session: SparkSession,
    text: str,
    references: Sequence[SourceReference],
    frames: Mapping[str, DataFrame],
) -> DataFrame:
    """A user's ad-hoc query over named frames."""
    query = SqlQuery(text=text, references=tuple(references))
    try:
        return evaluate_by_source(session, query, lambda name: frames[name])
    except SPARK_ERRORS as error:
        raise QueryError(plain_words(error)) from error


def _bound_text(query: SqlQuery, frames: Sequence[DataFrame]) -> str:
    """The user's text with each source name replaced by a temporary view, everything else untouched.

    Analysis happens when the DataFrame is made, so the views' names may be used again right after.
    """
    pieces, position = [], 0
    for index, (reference, frame) in enumerate(zip(query.references, frames, strict=True)):
        view = f"__source_{index}"
        frame.createOrReplaceTempView(view)
        pieces.append(query.text[position : reference.start])
        pieces.append(f"`{view}`" if reference.aliased else f"`{view}` AS `{reference.source}`")
        position = reference.end
    pieces.append(query.text[position:])
    return "".join(pieces)
