"""What a load takes in, in which order, and from when on a row counts as late.

Whether a row is late must not hang on how files happen to be batched: each file is judged as if it had been loaded
by itself, after the files before it. A feed that declares neither lateness nor punctuation is taken to be in order;
rows that come out of order all the same are never late: they go into the table, and what was built on it is revised.
What was held up by us (a file that was away or put aside, a table that was paused) is held to no more than what had
been promised when it arrived. Instants are whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile

from freshtide.core.arrivals import DATA, Arrival, ArrivalState
from freshtide.core.feeds import Feed
from freshtide.core.instants import micros

# Each file costs what so many bytes cost, be it empty: it is listed, opened and registered.
_PER_FILE = 128_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadItem:
    """A file to load. Its rows stamped up to `late_upto` are late; None: none can be."""

    arrival: Arrival
    late_upto: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """An update of a base table: the files in order, and where it takes the table."""

    items: tuple[LoadItem, ...]
    punctuation: tuple[Arrival, ...]
    freshness: int | None
    safe: int | None
    is_cut: bool = False
    """Whether more is due than it takes at once."""
    superseded: tuple[Arrival, ...] = ()
    """Files that a newer one has taken the place of: done with, without having been read."""
    replaces: bool = False
    """Whether its file takes the place of all that the table holds."""

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """All that the load takes in, punctuation included."""
        return tuple(item.arrival for item in self.items) + self.superseded + self.punctuation


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the files that arrived before some file had promised, in seconds: their newest time stamps."""

    data: float | None
    punctuation: float | None


def weight_of(file: Arrival) -> int:
    """What it takes to load a file, in bytes of text."""
    return _PER_FILE + file.weight


def latest_allowed(feed: Feed, file: Arrival) -> int | None:
    """The newest time that a row of the file may bear: it was not written long after it arrived. None: any.

    It hangs on the file alone, so that a row is judged alike in whatever company and however often it is loaded.
    """
    if feed.time.column is None or feed.time.future_limit is None:
        return None
    return micros(file.arrived_at + feed.time.future_limit)


def plan_load(
    feed: Feed,
    pending: Iterable[Arrival],
    *,
    upto: float | None,
    freshness: int | None,
    safe: int | None,
    most: int | None = None,
    held_up: Mapping[int, Promise] | None = None,
    is_reference: bool = False,
) -> LoadPlan:
    """Order the pending files stamped up to `upto`, `most` of them, and follow freshness and safe freshness.

    Files without a time stamp come first: they hold no row that could be too early. A file that is away holds back
    all that come after it: freshness passes nothing by. A punctuation counts once every file that arrived before it is
    loaded; files that arrived after it are held to it from the start. `held_up` are files before which others were
    loaded that arrived after them, by id, with what had been promised when they arrived. Of a reference table nobody
    waits for the time, so no row of it is late.
    """
    if feed.is_replaced:
        return _plan_replacement(pending, freshness=freshness)
    pending = in_order(pending)
    there = list(takewhile(lambda file: file.state is not ArrivalState.AWAY, due(pending, upto)))
    data = there[:most]
    taken = {file.id for file in data}
    left_out = (file.id for file in pending if file.state in DATA and file.id not in taken)
    first_left_out = min(left_out, default=None)
    marks = [file for file in pending if file.state is ArrivalState.PUNCTUATION]
    punctuation = tuple(mark for mark in marks if first_left_out is None or mark.id < first_left_out)
    lateness = _lateness(feed)
    can_be_late = _can_be_late(feed) and not is_reference
    items = []
    for file in data:
        promised = _latest([safe, *(_stamp(mark) for mark in marks if mark.id < file.id)])
        if held_up and file.id in held_up:
            promised = _earliest(promised, _promised(held_up[file.id], lateness))
        items.append(LoadItem(arrival=file, late_upto=promised if can_be_late else None))
        if file.timestamp is not None:
            freshness = _latest([freshness, _stamp(file)])
            if lateness is not None and freshness is not None:
                safe = _latest([safe, freshness - lateness])
    counted = [_stamp(mark) for mark in punctuation]
    if is_reference:
        safe = freshness
    return LoadPlan(
        items=tuple(items),
        punctuation=punctuation,
        freshness=_latest([freshness, *counted]),
        safe=_latest([safe, *counted]),
        is_cut=len(data) < len(there),
    )


def _plan_replacement(pending: Iterable[Arrival], *, freshness: int | None) -> LoadPlan:
    """Of files each of which holds everything, the newest; none of them, where the table has a newer one.

    One that is away is waited for only if nothing newer is there.
    """
    there = due(in_order(pending), None)
    while there and there[-1].state is ArrivalState.AWAY:
        there.pop()
    is_newer = bool(there) and (freshness is None or _stamp(there[-1]) >= freshness)
    newest, superseded = (there[-1:], there[:-1]) if is_newer else ([], there)
    reached = _latest([freshness, *(_stamp(file) for file in newest)])
    return LoadPlan(
        items=tuple(LoadItem(arrival=file, late_upto=None) for file in newest),
        punctuation=(),
        freshness=reached,
        safe=reached,
        superseded=tuple(superseded),
        replaces=is_newer,
    )


def in_order(files: Iterable[Arrival]) -> list[Arrival]:
    """Files in the order in which they are loaded."""
    return sorted(files, key=lambda file: (file.timestamp is not None, _stamp(file), file.position))


def due(files: Iterable[Arrival], upto: float | None) -> list[Arrival]:
    """Those with rows that are stamped up to a moment."""
    return [file for file in files if file.state in DATA and _is_due(file, upto)]


def _promised(promise: Promise, lateness: int | None) -> int | None:
    """Up to where dependents could have been told that nothing is missing, by then."""
    data = None if promise.data is None or lateness is None else micros(promise.data) - lateness
    return _latest([data, None if promise.punctuation is None else micros(promise.punctuation)])


def _can_be_late(feed: Feed) -> bool:
    return feed.time.lateness is not None or feed.is_punctuated


def _lateness(feed: Feed) -> int | None:
    """How far safe freshness stays behind freshness; None where only punctuation moves it."""
    if feed.time.lateness is not None:
        return micros(feed.time.lateness)
    return None if feed.is_punctuated else 0


def _is_due(file: Arrival, upto: float | None) -> bool:
    return upto is None or file.timestamp is None or _stamp(file) <= micros(upto)


def _stamp(file: Arrival) -> int:
    return micros(file.timestamp or 0.0)


def _latest(instants: Iterable[int | None]) -> int | None:
    return max((instant for instant in instants if instant is not None), default=None)


def _earliest(one: int | None, other: int | None) -> int | None:
    """None is before everything."""
    return None if one is None or other is None else min(one, other)
