"""Times that a feed computes from several columns of a row, by an expression of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampNTZType, TimestampType

from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import UTC_ZONE, Feed
from freshtide.spark.failures import plain_words
from freshtide.spark.permissions import NotPermittedError, names_in, require_permitted
from freshtide.spark.reading import empty_frame
from freshtide.spark.schemas import brought_schema, quoted

_ZONE = "spark.sql.session.timeZone"
# Their value is that of the moment of a load, though Spark counts them among what follows from a row.
_OF_THE_MOMENT = frozenset({"CurrentDate", "CurrentTime", "CurrentTimestamp", "Now", "LocalTimestamp"})
_OF_SEVERAL_ROWS = frozenset(
    {"Aggregate", "Exists", "Generate", "InSubquery", "LateralSubquery", "ListQuery", "ScalarSubquery", "Window"}
)


class ComputedTimeError(FreshtideError):
    """A `time` that Spark does not understand, or that is none."""


def with_computed_time(frame: DataFrame, feed: Feed) -> DataFrame:
    """The rows with the time that the feed computes for each; null where the expression gives none, or fails.

    An expression that fails would fail the whole load. `try_add` catches that of what it is given, but Spark computes
    what occurs twice in an expression beforehand, out of its reach; into a lambda it does not look.
    """
    caught = f"try_add(CAST({_text(feed)} AS TIMESTAMP), INTERVAL '0' SECOND)"
    time = f"element_at(transform(array(0), _freshtide_once -> {caught}), 1) AS {quoted(feed.time.known_column)}"
    with _in_zone(frame.sparkSession, feed):
        return frame.selectExpr("*", time)


def check_computed_time(session: SparkSession, feed: Feed) -> None:
    """A ComputedTimeError unless the feed's expression gives a time of each row, and the same one each time."""
    try:
        with _in_zone(session, feed):
            frame = empty_frame(session, brought_schema(feed)).selectExpr(_text(feed))
            plan: Any = frame._jdf.queryExecution().analyzed()
        require_permitted(plan)
        kind = frame.schema.fields[0].dataType
    except PySparkException as error:
        raise _wrong(feed, plain_words(error), way_out="Mend the expression.") from error
    except NotPermittedError as error:
        raise _wrong(feed, error.message, way_out=error.way_out) from error
    names = names_in(plan)
    if names & _OF_SEVERAL_ROWS:
        raise _wrong(feed, "it is not computed from one row.", way_out="Use functions of a single row.")
    if not plan.deterministic() or names & _OF_THE_MOMENT:
        raise _wrong(
            feed,
            "its value does not follow from the row alone: read again, the row would have another time.",
            way_out="Compute it from the columns of the feed alone.",
        )
    if not isinstance(kind, TimestampType | TimestampNTZType):
        raise _wrong(
            feed,
            f"it gives a {kind.simpleString()}, not a timestamp.",
            way_out="Convert it, like to_timestamp(text, 'yyyy-MM-dd HHmm'), timestamp_seconds(number) or "
            "CAST(day AS TIMESTAMP).",
        )


def _text(feed: Feed) -> str:
    # The line may end in a comment.
    return f"({feed.time.expression}\n)"


def _wrong(feed: Feed, message: str, *, way_out: str | None) -> ComputedTimeError:
    return ComputedTimeError(f"In 'time' of the feed '{feed.name}': {message}", way_out=way_out)


@contextmanager
def _in_zone(session: SparkSession, feed: Feed) -> Iterator[None]:
    """Let what is analysed within be of the feed's zone: a text without an offset, a timestamp without a zone."""
    if feed.time_zone == UTC_ZONE:
        yield
        return
    session.conf.set(_ZONE, feed.time_zone)
    try:
        yield
    finally:
        session.conf.set(_ZONE, UTC_ZONE)
