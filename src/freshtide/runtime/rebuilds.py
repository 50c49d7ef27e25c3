"""Rebuilds of base tables in parts: what has been written of them, and waits for the last part.

Each part is one update on a track. Its files are on disk, and no log names them: readers see nothing of a rebuild until
its last part commits all of it at once. In between the table is loaded as ever; the last part takes that as well. A
part counts as long as the whole rebuild would judge its files just so: the same content under the same limit of
lateness, by the same query of the same feed. All of this is in memory: after a crash a rebuild begins anew, and what it
had written is swept away like anything that was never committed.

A rebuild that was only wished for can be dropped, by another thread than those of tracks, up to the moment at which it
is committed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from freshtide.catalog import RebuildProgress
from freshtide.core.errors import FreshtideError
from freshtide.core.loads import LoadItem, LoadPlan
from freshtide.runtime.viewrebuilds import ViewUnderway
from freshtide.runtime.writtenparts import PartsUnderway, WrittenPart
from freshtide.storage import Prepared, gathered

_Judged = tuple[str, str, float, int | None]
_logger = logging.getLogger(__name__)


class DroppedRebuildError(FreshtideError):
    """A rebuild that is not to be committed any more."""

    def __init__(self, table: str) -> None:
        super().__init__(f"The rebuild of '{table}' is not wanted any more: nothing of it was committed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written(WrittenPart):
    """A part that has been computed."""

    items: frozenset[_Judged]


@dataclass(slots=True, kw_only=True)
class Underway(PartsUnderway[_Written]):
    """A rebuild of one base table."""

    plan: LoadPlan
    """The whole, by the files that the table has loaded by now."""

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
            self.keep_only([part for part in self.written if part.is_whole()])
            return self.part(most)
        if is_last and not left and self.written:
            # Something has to carry the commit.
            self.keep_only(self.written[:-1])
            return self.part(most)
        items = tuple(left if is_last else left[:most])
        plan = replace(self.plan, items=items, punctuation=self.plan.punctuation if is_last else (), is_cut=False)
        return RebuildPart(underway=self, plan=plan, left=len(left), is_last=is_last)

    def fit(self, plan: LoadPlan) -> None:
        """From now on this is the whole: what was judged otherwise is thrown away."""
        self.plan = plan
        wanted = {_judged(item) for item in plan.items}
        self.keep_only([part for part in self.written if part.items <= wanted])


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
        return RebuildProgress(part=len(self.underway.written) + 1, done=files - self.left, whole=files, unit="files")

    def keep(self, prepared: Prepared) -> None:
        """It has been written: it waits for the last one."""
        items = frozenset(map(_judged, self.plan.items))
        self.underway.keep(_Written(items=items, prepared=prepared), left=self.left)

    def gathered(self, prepared: Prepared) -> Prepared:
        """The whole rebuild, where this is its last part.

        What is handed out is forgotten before it lands: whatever becomes of the commit, no file is committed twice.
        """
        parts = [part.prepared for part in self.underway.handed_out()]
        return gathered(parts, prepared, files=self.underway.plan.arrivals)


class Dropped:
    """What had been written of a rebuild that does not go on."""

    def __init__(self, written: Iterable[WrittenPart]) -> None:
        self._written = tuple(written)

    def discard(self) -> None:
        """Throw it away. What cannot be is swept away later, like anything that was never committed."""
        try:
            for part in self._written:
                part.discard()
        except (OSError, FreshtideError):
            _logger.warning("Not all parts of a rebuild could be thrown away yet.", exc_info=True)


_Begun = TypeVar("_Begun", Underway, ViewUnderway)


class Rebuilds:
    """Those of all tables, in this run."""

    def __init__(self) -> None:
        self._underway: dict[str, Underway | ViewUnderway] = {}
        self._dropped: set[str] = set()
        """Tables whose rebuild is not to be committed, if an update of it runs."""
        self._landing: set[str] = set()
        """Tables whose rebuild is being committed, or was, until its update is known to have ended."""
        self._lock = threading.Lock()

    def begin(self, tables: Iterable[str]) -> None:
        """An update of these tables is started: what was dropped before does not concern it."""
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
        return Dropped(() if underway is None else underway.drop())

    def of(self, table: str, made_of: Any, plan: LoadPlan) -> Underway:
        """The rebuild of a table, which is this as a whole by now. What was written for another is thrown away."""
        underway = self._underway.get(table)
        if isinstance(underway, Underway) and underway.made_of == made_of:
            underway.fit(plan)
            return underway
        return self._begin(table, Underway(made_of=made_of, plan=plan))

    def of_view(self, table: str, made_of: Any) -> ViewUnderway:
        """The same for a view, which follows from this beside the rows of its sources."""
        underway = self._underway.get(table)
        if isinstance(underway, ViewUnderway) and underway.made_of == made_of:
            return underway
        return self._begin(table, ViewUnderway(made_of=made_of))

    def _begin(self, table: str, begun: _Begun) -> _Begun:
        with self._lock:
            before = self._underway.pop(table, None)
            begun.is_dropped = table in self._dropped
            if not begun.is_dropped:
                self._underway[table] = begun
        if before is not None:
            before.discard()
        return begun


def _judged(item: LoadItem) -> _Judged:
    """What the rows of a file, and what becomes of each, follow from."""
    file = item.arrival
    return file.position, file.digest, file.arrived_at, item.late_upto
