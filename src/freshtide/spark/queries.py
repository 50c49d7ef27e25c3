"""Running a table's query over DataFrames that stand in for its sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshtide.core.errors import FreshtideError, UsageError
from freshtide.core.tables import FunctionQuery, Query, SourceReference, SqlQuery
from freshtide.spark.failures import SPARK_ERRORS, plain_words
from freshtide.spark.jvm import jvm_of
from freshtide.spark.permissions import analysed
from freshtide.spark.reading import empty_frame


class QueryError(UsageError):
    """A question that Spark cannot answer."""


class QueryResultError(FreshtideError):
    """A table function that did not return a DataFrame."""


def source_names(query: Query) -> tuple[str, ...]:
    """The source behind each place, in order."""
    if isinstance(query, SqlQuery):
        return tuple(reference.source for reference in query.references)
    return tuple(query.parameters.values())


def asks_for_files(query: Query) -> bool:
    """Whether a query may want to know which file a row comes from; of a function nobody can tell."""
    return isinstance(query, FunctionQuery) or "input_file_" in query.text.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """Some rows of a frame, with some values computed from each; both are SQL, `columns` and `condition` of the values.

    Put into a larger query as text it is analysed once, together with that; each step of a chain of DataFrames is
    analysed by itself, which for small updates takes as long as the work. By itself it is better off as a frame:
    a view to select from costs more than two such steps.
    """

    frame: DataFrame
    values: tuple[str, ...] = ("*",)
    columns: tuple[str, ...] = ("*",)
    condition: str | None = None

    def as_frame(self) -> DataFrame:
        jvm = jvm_of(self.frame.sparkSession)
        frame = self.frame if self.values == ("*",) else jvm.select(self.frame, self.values)
        if self.condition is not None:
            frame = frame.where(self.condition)
        return frame if self.columns == ("*",) else jvm.select(frame, self.columns)

    def relation(self, view: str) -> str:
        """The same as a SELECT from a view of the frame."""
        values = f"SELECT {', '.join(self.values)} FROM `{view}`"
        where = "" if self.condition is None else f" WHERE {self.condition}"
        return f"SELECT {', '.join(self.columns)} FROM ({values}){where}"


Input = DataFrame | Narrowed


def evaluate(session: SparkSession, query: Query, inputs: Sequence[Input]) -> DataFrame:
    """The query's result with one input in each place that names a source."""
    if isinstance(query, FunctionQuery):
        result = query.function(**dict(zip(query.parameters, map(_as_frame, inputs), strict=True)))
        if not isinstance(result, DataFrame):
            name = getattr(query.function, "__name__", "the function")
            raise QueryResultError(
                f"{name}() returned {type(result).__name__}, not a DataFrame.",
                way_out="A table function takes DataFrames and returns one.",
            )
        return result
    if query.takes_all:
        (only,) = inputs
        return _as_frame(only)
    return session.sql(_bound_text(query, inputs))


def _as_frame(given: Input) -> DataFrame:
    return given.as_frame() if isinstance(given, Narrowed) else given


def resolve(
    session: SparkSession, query: Query, schemas: Mapping[str, StructType], *, files: bool = False
) -> DataFrame:
    """The query over no rows at all, looked at for what it refers to before it is let near any.

    With `files` it may ask for the file that a row comes from. What a Python function does is its own affair.
    """
    empty = {name: empty_frame(session, schema) for name, schema in schemas.items()}
    if isinstance(query, FunctionQuery):
        return evaluate_by_source(session, query, empty.__getitem__)
    text = _bound_text(query, [empty[name] for name in source_names(query)])
    views = frozenset(_view(index) for index in range(len(query.references)))
    try:
        return analysed(session, text, views=views, files=files)
    finally:
        # No query is to find those of another one.
        for view in views:
            session.catalog.dropTempView(view)


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
        resolve(session, query, {name: frame.schema for name, frame in frames.items()})
        return evaluate_by_source(session, query, lambda name: frames[name])
    except SPARK_ERRORS as error:
        raise QueryError(plain_words(error)) from error


def _view(index: int) -> str:
    return f"__source_{index}"


def _bound_text(query: SqlQuery, inputs: Sequence[Input]) -> str:
    """The user's text with each source name replaced by a temporary view, everything else untouched.

    Analysis happens when the DataFrame is made, so the views' names may be used again right after.
    """
    pieces, position = [], 0
    for index, (reference, given) in enumerate(zip(query.references, inputs, strict=True)):
        view = _view(index)
        frame, relation = (
            (given.frame, f"({given.relation(view)})") if isinstance(given, Narrowed) else (given, f"`{view}`")
        )
        frame.createOrReplaceTempView(view)
        pieces.append(query.text[position : reference.start])
        pieces.append(relation if reference.aliased else f"{relation} AS `{reference.source}`")
        position = reference.end
    pieces.append(query.text[position:])
    return "".join(pieces)
