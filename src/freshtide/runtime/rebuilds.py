"""Rebuilds of base tables in parts: what has been written of them, and waits for the last part.

Each part is one update on a track. Its files are on disk, and no log names them: readers see nothing of a rebuild until
its last part commits all of it at once. In between the table is loaded as ever; the last part takes that as well. A
part counts as long as the whole rebuild would judge its files just so: the same content under the same limit of
lateness, by the same query of the same feed. All of this is in memory: after a crash a rebuild begins anew, and what it
had written is swept away like anything that was never committed.

A rebuild that was only wished for can be dropped, by another thread than those of tracks, up to the moment at which it
is committed. Locks are held for a moment and never while the disk is asked for something.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from freshtide.catalog import RebuildProgress
from freshtide.core.errors import FreshtideError
from freshtide.core.loads import LoadItem, LoadPlan
from freshtide.storage import DataFile, Prepared, StoredTable, gathered

_Judged = tuple[str, str, float, int | None]
_logger = logging.getLogger(__name__)


class DroppedRebuildError(FreshtideError):
    """A rebuild that is not to be committed any more."""

    def __init__(self, table: str) -> None:
        super().__init__(f"The rebuild of '{table}' is not wanted any more: nothing of it was committed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A part that has been computed."""

    items: frozenset[_Judged]
    prepared: Prepared

    def files(self) -> Iterator[tuple[StoredTable, DataFile]]:
        for table, change in (self.prepared.own, *self.prepared.beside):
            yield from ((table, file) for file in change.add)

    def is_whole(self) -> bool:
        """Whether all that was written is still there: it may be older than what is kept of what nobody commits."""
        return all(_is_there(table, file) for table, file in self.files())

    def discard(self) -> None:
        for table, file in self.files():
            table.discard([file])


@dataclass(slots=True, kw_only=True)
class Underway:
    """A rebuild of one table."""

    made_of: Any
    """What its rows follow from, beside its files."""
    written: list[_Written] = field(default_factory=list)
    plan: LoadPlan
    """The whole, by the files that the table has loaded by now."""
    stretch: float = 1.0
    """By how much parts are longer than others can afford, because as much is loaded meanwhile."""
    was_left: int | None = None
    """How many files were left when the last part began."""
    is_dropped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def left(self) -> list[LoadItem]:
        """What no part has taken yet, in the order of the whole."""
        taken = {item for part in self.written for item in part.items}
        return [item for item in self.plan.items if _judged(item) not in taken]

    def part(self, most: int) -> RebuildPart:
        """The next part: so many of the files that are left; what has been lost of earlier ones is done again."""
        left = self.left
        is_last = most >= len(left)
        if is_last and not all(part.is_whole() for part in self.written):
            self._keep_only([part for part in self.written if part.is_whole()])
            return self.part(most)
        if is_last and not left and self.written:
            # Something has to carry the commit.
            self._keep_only(self.written[:-1])
            return self.part(most)
        items = tuple(left if is_last else left[:most])
        plan = replace(self.plan, items=items, punctuation=self.plan.punctuation if is_last else (), is_cut=False)
        return RebuildPart(underway=self, plan=plan, left=len(left), is_last=is_last)

    def note(self, left: int) -> None:
        """A part has been written before which so many files were left."""
        if self.was_left is not None and left >= self.was_left:
            # As much is loaded as is rebuilt: it would never end.
            self.stretch *= 2.0
        self.was_left = left

    def fit(self, plan: LoadPlan) -> None:
        """From now on this is the whole: what was judged otherwise is thrown away."""
        self.plan = plan
        wanted = {_judged(item) for item in plan.items}
        self._keep_only([part for part in self.written if part.items <= wanted])

    def discard(self) -> None:
        self._keep_only([])

    def keep(self, part: _Written) -> None:
        """A part has been written: it waits for the last one, unless nobody wants it any more."""
        with self._lock:
            if not self.is_dropped:
                self.written.append(part)
                return
        part.discard()

    def handed_out(self) -> list[_Written]:
        """All that has been written; it is not known here any longer."""
        with self._lock:
            written, self.written = self.written, []
        return written

    def drop(self) -> list[_Written]:
        """What is to be thrown away of it. No part is kept from now on."""
        with self._lock:
            self.is_dropped = True
        return self.handed_out()

    def _keep_only(self, kept: list[_Written]) -> None:
        still = {id(part) for part in kept}
        for part in self.written:
            if id(part) not in still:
                part.discard()
        self.written = kept


class Dropped:
    """What had been written of a rebuild that does not go on."""

    def __init__(self, written: Iterable[_Written]) -> None:
        self._written = tuple(written)

    def discard(self) -> None:
        """Throw it away. What cannot be is swept away later, like anything that was never committed."""
        try:
            for part in self._written:
                part.discard()
        except (OSError, FreshtideError):
            _logger.warning("Not all parts of a rebuild could be thrown away yet.", exc_info=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildPart:
    """One update of a rebuild."""

    underway: Underway
    plan: LoadPlan
    left: int
    """How many files no part before it has taken."""
    is_last: bool

    @property
    def progress(self) -> RebuildProgress:
        """For those who look on."""
        files = len(self.underway.plan.items)
        return RebuildProgress(part=len(self.underway.written) + 1, files_done=files - self.left, files=files)

    def keep(self, prepared: Prepared) -> None:
        """It has been written: it waits for the last one."""
        self.underway.note(self.left)
        self.underway.keep(_Written(items=frozenset(map(_judged, self.plan.items)), prepared=prepared))

    def gathered(self, prepared: Prepared) -> Prepared:
        """The whole rebuild, where this is its last part.

        What is handed out is forgotten before it lands: whatever becomes of the commit, no file is committed twice.
        """
        parts = [part.prepared for part in self.underway.handed_out()]
        self.underway.was_left, self.underway.stretch = None, 1.0
        return gathered(parts, prepared, files=self.underway.plan.arrivals)


class Rebuilds:
    """Those of all tables, in this run."""

    def __init__(self) -> None:
        self._underway: dict[str, Underway] = {}
        self._dropped: set[str] = set()
        """Tables whose rebuild is not to be committed, if an update of it runs."""
        self._landing: set[str] = set()
        """Tables whose rebuild is being committed, or was, until its update is known to have ended."""
        self._lock = threading.Lock()

    def begin(self, tables: Iterable[str]) -> None:
        """An update is started that computes these tables anew."""
        with self._lock:
            self._dropped.difference_update(tables)

    def land(self, table: str) -> None:
        """A rebuild is about to be committed; a DroppedRebuildError if it is not to be."""
        with self._lock:
            if table in self._dropped:
                raise DroppedRebuildError(table)
            self._landing.add(table)

    def ended(self, tables: Iterable[str]) -> None:
        """It is known that an update of these tables has ended."""
        with self._lock:
            self._landing.difference_update(tables)

    def drop(self, table: str) -> Dropped | None:
        """Not go on with the rebuild of a table: what has been written of it; None if it is being committed."""
        with self._lock:
            if table in self._landing:
                return None
            self._dropped.add(table)
            underway = self._underway.pop(table, None)
        return Dropped(() if underway is None else tuple(underway.drop()))

    def of(self, table: str, made_of: Any, plan: LoadPlan) -> Underway:
        """The rebuild of a table, which is this as a whole by now. What was written for another is thrown away."""
        underway = self._underway.get(table)
        if underway is not None and underway.made_of == made_of:
            underway.fit(plan)
            return underway
        if underway is not None:
            underway.discard()
        with self._lock:
            begun = Underway(made_of=made_of, plan=plan, is_dropped=table in self._dropped)
            if not begun.is_dropped:
                self._underway[table] = begun
        return begun


def _judged(item: LoadItem) -> _Judged:
    """What the rows of a file, and what becomes of each, follow from."""
    file = item.arrival
    return file.position, file.digest, file.arrived_at, item.late_upto


def _is_there(table: StoredTable, file: DataFile) -> bool:
    try:
        return table.disk.look(table.folder / file.path).st_size == file.size
    except FileNotFoundError:
        return False
