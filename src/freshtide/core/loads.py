"""What a load takes in, in which order, and from when on a row counts as late.

Whether a row is late must not hang on how files happen to be batched: each file is judged as if it had been loaded
by itself, after the files before it. A feed that declares neither lateness nor punctuation is taken to be in order;
rows that come out of order all the same are never late: they go into the table, and what was built on it is revised.
Instants are whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from freshtide.core.files import FeedFile, FileState
from freshtide.core.instants import micros
from freshtide.core.tables import Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadItem:
    """A file to load. Its rows stamped up to `late_upto` are late; None: none can be."""

    file: FeedFile
    late_upto: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """An update of a base table: the files in order, and where it takes the table."""

    items: tuple[LoadItem, ...]
    punctuation: tuple[FeedFile, ...]
    freshness: int | None
    safe: int | None

    @property
    def files(self) -> tuple[FeedFile, ...]:
        """All that the load takes in, punctuation included."""
        return tuple(item.file for item in self.items) + self.punctuation


def plan_load(
    feed: Feed,
    pending: Iterable[FeedFile],
    *,
    upto: float | None,
    freshness: int | None,
    safe: int | None,
    most: int | None = None,
) -> LoadPlan:
    """Order the pending files stamped up to `upto`, `most` of them, and follow freshness and safe freshness.

    Files without a time stamp come first: they hold no row that could be too early. A punctuation counts
    once every file that arrived before it is loaded; files that arrived after it are held to it from the start.
    """
    pending = sorted(pending, key=lambda file: (file.timestamp is not None, _stamp(file), file.path))
    data = [file for file in pending if file.state is FileState.READY and _is_due(file, upto)][:most]
    taken = {file.id for file in data}
    left_out = (file.id for file in pending if file.state is FileState.READY and file.id not in taken)
    first_left_out = min(left_out, default=None)
    marks = [file for file in pending if file.state is FileState.PUNCTUATION]
    punctuation = tuple(mark for mark in marks if first_left_out is None or mark.id < first_left_out)
    lateness = _lateness(feed)
    items = []
    for file in data:
        promised = [_stamp(mark) for mark in marks if mark.id < file.id]
        late_upto = _latest([safe, *promised]) if _can_be_late(feed) else None
        items.append(LoadItem(file=file, late_upto=late_upto))
        if file.timestamp is not None:
            freshness = _latest([freshness, _stamp(file)])
            if lateness is not None and freshness is not None:
                safe = _latest([safe, freshness - lateness])
    counted = [_stamp(mark) for mark in punctuation]
    return LoadPlan(
        items=tuple(items),
        punctuation=punctuation,
        freshness=_latest([freshness, *counted]),
        safe=_latest([safe, *counted]),
    )


def _can_be_late(feed: Feed) -> bool:
    return feed.lateness is not None or feed.punctuation is not None


def _lateness(feed: Feed) -> int | None:
    """How far safe freshness stays behind freshness; None where only punctuation moves it."""
    if feed.lateness is not None:
        return micros(feed.lateness)
    return None if feed.punctuation else 0


def _is_due(file: FeedFile, upto: float | None) -> bool:
    return upto is None or file.timestamp is None or _stamp(file) <= micros(upto)


def _stamp(file: FeedFile) -> int:
    return micros(file.timestamp or 0.0)


def _latest(instants: Iterable[int | None]) -> int | None:
    return max((instant for instant in instants if instant is not None), default=None)
