"""What is asked of the records of arrivals and loads: statements, each built once, with names for what varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Float, Integer, Select, and_, bindparam, case, func, insert, or_, select, update

from freshtide.catalog.schema import feed_columns, files, loads
from freshtide.core.arrivals import CHANGED_BEFORE_LOADING, DATA, LOADABLE, ArrivalState

_FEED = files.c.feed == bindparam("feed")
_OF_TABLE = loads.c.table_name == bindparam("table")
_MOST = bindparam("most", type_=Integer)
_IS_LOADED, _IS_PENDING = loads.c.number.is_not(None), loads.c.number.is_(None)
_PATHS = files.c.path.in_(bindparam("paths", expanding=True))
_IDS = files.c.id.in_(bindparam("ids", expanding=True))
_LOADED_IDS = select(loads.c.file_id).where(_IS_LOADED)
_OF_FEED = select(files).where(_FEED)

# Files by what they are.
BY_PATHS = _OF_FEED.where(_PATHS)
CONTENTS = select(files.c.sha256, files.c.path).where(
    _FEED,
    files.c.sha256.in_(bindparam("hashes", expanding=True)),
    or_(files.c.state.in_(DATA), files.c.id.in_(_LOADED_IDS)),
    files.c.state != ArrivalState.PUNCTUATION,
    files.c.rows.is_distinct_from(0),
)
LOADED_PATHS = select(files.c.path).where(_FEED, _PATHS, files.c.id.in_(_LOADED_IDS))
WAITS_FOR_ITS_CONTENT = and_(files.c.state == ArrivalState.QUARANTINED, files.c.reason == CHANGED_BEFORE_LOADING)
"""`Arrival.waits_for_its_content`."""
KNOWN_PATHS = select(files.c.path, files.c.size, files.c.modified_ns).where(
    _FEED, or_(files.c.reason.is_(None), ~WAITS_FOR_ITS_CONTENT)
)
IN_STATE = select(files).where(files.c.state.in_(bindparam("states", expanding=True))).order_by(files.c.id)
OF_FEED_IN_STATE = IN_STATE.where(_FEED)
LATEST = _OF_FEED.where(files.c.state.in_(LOADABLE)).order_by(files.c.id.desc()).limit(_MOST)
TIMES = (
    select(files.c.arrived_at, files.c.timestamp)
    .where(_FEED, files.c.state.in_(DATA))
    .order_by(files.c.id.desc())
    .limit(_MOST)
)
LAST_ARRIVAL = select(files.c.arrived_at).order_by(files.c.id.desc()).limit(1)
COUNTS = select(files.c.feed, files.c.state, func.count()).group_by(files.c.feed, files.c.state)
LATEST_TIMESTAMP = select(func.max(files.c.timestamp)).where(_FEED, files.c.state.in_(LOADABLE))
LATEST_TIMESTAMP_BY = LATEST_TIMESTAMP.where(files.c.arrived_at <= bindparam("arrived_by"))
RESTAMP = update(files).where(files.c.id == bindparam("its_id")).values(timestamp=bindparam("stamp"))
SET_STATE = update(files).where(files.c.id == bindparam("file_id"))
NOTE_STANDING = update(files).where(_IDS, files.c.state.in_(DATA))


def _orphaned_duplicates() -> Select[Any]:
    twin = files.alias()
    still_held = select(loads.c.file_id).where(_IS_LOADED, loads.c.sha256 == files.c.sha256)
    stands = select(twin.c.id).where(
        twin.c.feed == files.c.feed,
        twin.c.sha256 == files.c.sha256,
        or_(twin.c.state.in_(DATA), twin.c.id.in_(_LOADED_IDS)),
    )
    orphaned = select(files).where(files.c.state == ArrivalState.DUPLICATE, ~stands.exists(), ~still_held.exists())
    return orphaned.order_by(files.c.id)


ORPHANED_DUPLICATES = _orphaned_duplicates()

# Files by what tables have to do with them.
_BY_TABLE = and_(loads.c.file_id == files.c.id, _OF_TABLE)
_WAITING = select(files).join(loads, _BY_TABLE).where(_IS_PENDING)
_WAITING_DATA = _WAITING.where(files.c.state.in_(DATA))
_IS_DUE = or_(files.c.timestamp.is_(None), files.c.timestamp <= bindparam("upto", type_=Float(53)))
PENDING = _WAITING.where(files.c.state.in_(LOADABLE)).order_by(files.c.id)
FIRST_DUE = (
    _WAITING_DATA.where(_IS_DUE).order_by(files.c.timestamp.is_not(None), files.c.timestamp, files.c.path).limit(_MOST)
)
_IS_PUNCTUATION = files.c.state == ArrivalState.PUNCTUATION
_FIRST_OTHER = _WAITING_DATA.with_only_columns(func.min(files.c.id)).where(~_IDS)
FIRST_OTHER_AND_PUNCTUATION = _WAITING.where(
    or_(_IS_PUNCTUATION, files.c.id == _FIRST_OTHER.correlate(None).scalar_subquery())
).order_by(_IS_PUNCTUATION, files.c.id)
PENDING_STAMPS = (
    select(files.c.timestamp).distinct().join(loads, _BY_TABLE).where(_IS_PENDING, files.c.state.in_(LOADABLE))
)
PENDING_STAMPS_UPTO = PENDING_STAMPS.where(_IS_DUE)
PENDING_COUNTS = (
    select(loads.c.table_name, func.count())
    .join(files, files.c.id == loads.c.file_id)
    .where(_IS_PENDING, files.c.state.in_(LOADABLE))
    .group_by(loads.c.table_name)
)
AWAITED = (
    select(loads.c.table_name, files.c.path)
    .join(files, files.c.id == loads.c.file_id)
    .where(_IS_PENDING, files.c.state == ArrivalState.AWAY)
    .order_by(files.c.timestamp.is_(None), files.c.timestamp.desc(), files.c.path.desc())
)
LOADED_BY = select(loads.c.file_id, loads.c.number).where(_OF_TABLE, _IS_LOADED)
LOADED = select(files).join(loads, _BY_TABLE).where(_IS_LOADED).order_by(files.c.id)
EXPECTED_ROWS = (
    select(func.count(), func.coalesce(func.sum(files.c.rows), 0))
    .join(loads, _BY_TABLE)
    .where(_IS_LOADED, files.c.state != ArrivalState.PUNCTUATION)
)
NEWEST_LOADED = select(loads.c.file_id).where(_OF_TABLE, _IS_LOADED).order_by(loads.c.file_id.desc()).limit(1)
OUTDATED_TABLES = select(loads.c.table_name).distinct().where(loads.c.sha256.is_not(None), _IS_LOADED)
LAST_LOAD = select(func.max(loads.c.number)).where(_OF_TABLE)
UNLOAD_AFTER = update(loads).where(_OF_TABLE, loads.c.number > bindparam("last")).values(number=None, sha256=None)
UNHEARD_OF = select(files.c.id).where(
    _FEED, files.c.state.in_(LOADABLE), files.c.id.not_in(select(loads.c.file_id).where(_OF_TABLE))
)
ADD_LOADS = insert(loads)


def _over_earlier_files() -> Select[Any]:
    """For each file of a feed up to one: the newest time stamps of data and punctuation that arrived before it."""

    def newest(states: Sequence[ArrivalState]) -> Any:
        stamp = case((files.c.state.in_(states), files.c.timestamp))
        return func.max(stamp).over(order_by=files.c.id, rows=(None, -1))

    found = select(files.c.id, newest(DATA).label("data"), newest([ArrivalState.PUNCTUATION]).label("punctuation"))
    return found.where(_FEED, files.c.id <= bindparam("newest"))


OVER_EARLIER_FILES = _over_earlier_files()

# Columns of feeds.
EXTRA_COLUMNS = select(feed_columns).where(feed_columns.c.feed == bindparam("feed")).order_by(feed_columns.c.position)
ADD_COLUMN = insert(feed_columns)
