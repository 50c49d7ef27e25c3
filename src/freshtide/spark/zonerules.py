"""Whether Java, which Spark runs on, and Python have the same rules for a time zone: each brings a database of its own.

A file is stamped by Python when it arrives, and its rows by Java when it is loaded. Where the rules differ, so would
the times. Before 1970 they may: the database vouches for what has been since, and is built with or without the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from freshtide.core.errors import FreshtideError
from freshtide.core.instants import datetime_at, micros_of
from freshtide.feeds import local_times
from freshtide.spark.jvm import collected
from freshtide.spark.localtimes import instant_at

_FIRST, _LAST = datetime(1970, 1, 3, tzinfo=UTC), datetime(2070, 1, 1, tzinfo=UTC)
_STEP, _DAY, _MICRO = timedelta(weeks=2), timedelta(days=1), timedelta(microseconds=1)


class ZoneRulesError(FreshtideError):
    """Spark would read other times than the inspection of a file."""


def require_same_rules(session: SparkSession, zone: str) -> None:
    """A ZoneRulesError where Java does not know the zone, or has other rules for it than Python at any time from 1970.

    Compared are local times every two weeks and those around each change of the clocks.
    """
    local = local_times(zone)
    if local is None:
        return
    points = sorted({micros_of(point.replace(tzinfo=UTC)) for point in _telling(local.zone)})
    listed = f"from_json('{points}', 'array<bigint>')"
    instants = f"transform({listed}, at -> unix_micros({instant_at(zone, 'timestamp_micros(at)')}))"
    try:
        found = collected(session.sql(f"SELECT {instants} AS found")).column("found")[0].as_py()
    except PySparkException as error:
        raise ZoneRulesError(
            f"The Java that Spark runs on does not know the time zone '{zone}'.",
            way_out="Update Java, or name a zone with the same clocks.",
        ) from error
    for point, instant in zip(points, found, strict=True):
        if local.micros(point) != instant:
            raise ZoneRulesError(
                f"Python and the Java that Spark runs on have different rules for the time zone '{zone}': "
                f"{datetime_at(point):%Y-%m-%d %H:%M} there is {datetime_at(local.micros(point)):%Y-%m-%d %H:%M} UTC "
                f"for Python and {datetime_at(instant):%Y-%m-%d %H:%M} UTC for Java.",
                way_out="Update both, so that they have the same release of the time zone database: Java by itself, "
                "Python by the package tzdata of the system, or, without one, of pip.",
            )


def _telling(zone: tzinfo) -> Iterator[datetime]:
    """Local times by which rules can be told apart."""
    moment = _FIRST
    while moment < _LAST:
        yield _wall(moment, zone)
        following = moment + _STEP
        if _wall(moment, zone) - moment.replace(tzinfo=None) != _wall(following, zone) - following.replace(tzinfo=None):
            yield from _around(_change(moment, following, zone), zone)
        moment = following


def _around(change: datetime, zone: tzinfo) -> Iterator[datetime]:
    before, after = _wall(change - _MICRO, zone) + _MICRO, _wall(change, zone)
    for wall in (before, after, before + (after - before) / 2):
        yield from (wall - _MICRO, wall, wall + _DAY / 2, wall - _DAY / 2)


def _change(low: datetime, high: datetime, zone: tzinfo) -> datetime:
    """The moment in between at which clocks are changed."""
    offset = low.astimezone(zone).utcoffset()
    while high - low > _MICRO:
        middle = low + (high - low) // 2
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == offset else (low, middle)
    return high


def _wall(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)
