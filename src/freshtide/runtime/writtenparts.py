"""Parts of rebuilds that have been computed: their files are on disk, and no log names them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from freshtide.storage import DataFile, Prepared, StoredTable


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPart:
    """A part that waits for the last one."""

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
class Pace:
    """Whether a rebuild gets on: where as much comes meanwhile as is rebuilt, it would never end."""

    stretch: float = 1.0
    """By how much parts are longer than others can afford, because as much comes meanwhile."""
    was_left: float | None = None
    """How much was left when the last part began."""

    def note(self, left: float) -> None:
        """A part has been written before which so much was left."""
        if self.was_left is not None and left >= self.was_left:
            self.stretch *= 2.0
        self.was_left = left


Part = TypeVar("Part", bound=WrittenPart)


@dataclass(slots=True, kw_only=True)
class PartsUnderway(Generic[Part]):
    """A rebuild of one table: what has been written of it.

    It can be dropped by another thread than that which writes it. The lock is held for a moment, and never while the
    disk is asked for something.
    """

    made_of: Any
    """What its rows follow from, beside those that it reads."""
    written: list[Part] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)
    is_dropped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, part: Part, *, left: float) -> None:
        """A part has been written before which so much was left: it waits for the last one, unless nobody does."""
        self.pace.note(left)
        with self._lock:
            if not self.is_dropped:
                self.written.append(part)
                return
        part.discard()

    def handed_out(self) -> list[Part]:
        """All that has been written; it is not known here any longer."""
        with self._lock:
            written, self.written = self.written, []
        self.pace = Pace()
        return written

    def drop(self) -> list[Part]:
        """What is to be thrown away of it. No part is kept from now on."""
        with self._lock:
            self.is_dropped = True
        return self.handed_out()

    def discard(self) -> None:
        self.keep_only(())

    def keep_only(self, kept: Sequence[Part]) -> None:
        """Throw all other parts away."""
        still = {id(part) for part in kept}
        with self._lock:
            gone = [part for part in self.written if id(part) not in still]
            self.written = [part for part in self.written if id(part) in still]
        for part in gone:
            part.discard()


def _is_there(table: StoredTable, file: DataFile) -> bool:
    try:
        return table.disk.look(table.folder / file.path).st_size == file.size
    except FileNotFoundError:
        return False
