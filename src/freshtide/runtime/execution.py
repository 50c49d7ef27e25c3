"""One step of an update, from data to a commit: whatever computes it, it lands in one way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from freshtide.core.arrivals import Arrival
from freshtide.core.definitions import FormerRows
from freshtide.core.feeds import Column
from freshtide.core.steps import ComputedStep, Load, Refresh, Step, Tidy
from freshtide.spark import LatestStreams, SharedScans
from freshtide.storage import Prepared, Store, Tidying, UpdateRecord, land

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An update that has landed."""

    record: UpdateRecord
    version: int
    rows: int
    """Rows in the table after it."""
    files: tuple[Arrival, ...] = ()
    """Those that it should have taken in: what its commit does not name is not in the table."""

    @property
    def landed_files(self) -> tuple[Arrival, ...]:
        named = {(file.position, file.digest) for file in self.record.arrivals}
        return tuple(file for file in self.files if (file.position, file.digest) in named)


class Computer(Protocol):
    """What computes updates and writes their files, and can be asked what they would be."""

    @property
    def streams(self) -> LatestStreams:
        """What waits for latest tables."""
        ...

    @property
    def former(self) -> Mapping[str, FormerRows]:
        """Rows of views that say what their queries give, though these are others by now."""
        ...

    def prepared(
        self, step: ComputedStep, *, pool: str, scans: SharedScans | None = None
    ) -> AbstractContextManager[Prepared | None]:
        """Compute a step; None where it leaves nothing to be committed. Within, what it has written can land."""
        ...

    def together(
        self, names: Sequence[str], *, pool: str, rebuild: bool = False
    ) -> AbstractContextManager[SharedScans]:
        """Scans for the tables of a group to share while they are updated one after another."""
        ...

    def is_there(self, name: str, upto: float, *, pool: str) -> bool:
        """Whether a derived table has what an update to a cut would give it."""
        ...

    def against_changes(self, name: str, *, pool: str) -> str | None:
        """The operator of a view's query that there is no rule for; None: updates of it can follow changes."""
        ...

    def finish(self, name: str) -> bool:
        """Commit what the flow of a table had decided to commit and could not; whether there was anything."""
        ...

    def awaits(self, name: str) -> str | None:
        """A table without data that the load of a table needs; None: it can go on."""
        ...

    def discovered_columns(
        self, feed: str, files: Sequence[Arrival], *, known: tuple[Column, ...], pool: str
    ) -> tuple[Column, ...]:
        """Columns that files of a feed have beyond those that are known of it."""
        ...


class Executor:
    """Carries out steps."""

    def __init__(self, computer: Computer, store: Store, tidying: Tidying) -> None:
        self._computer = computer
        self._store = store
        self._tidying = tidying

    def prepare(self, step: Load | Refresh, *, track: int) -> Prepared:
        """Compute a part of a rebuild: its files are on disk, and wait for the last part."""
        with self._computer.prepared(step, pool=pool_of(track)) as prepared:
            assert prepared is not None, "loads and refreshes leave something to be committed"
            assert prepared.journal is None, "what goes through a flow is not cut"
            return prepared

    def run(
        self,
        step: Step,
        *,
        track: int,
        scans: SharedScans | None = None,
        complete: Callable[[Prepared], Prepared] | None = None,
    ) -> Outcome | None:
        """Compute a step and commit what came of it; None where that is nothing.

        `complete` adds what is to land with it.
        """
        if isinstance(step, Tidy):
            self._tidy(step)
            return None
        with self._computer.prepared(step, pool=pool_of(track), scans=scans) as computed:
            if computed is None:
                return None
            prepared = computed if complete is None else complete(computed)
            snapshot = land(prepared, self._store)
        record = snapshot.record
        assert record is not None, "a commit carries its record"
        return Outcome(record=record, version=snapshot.version, rows=snapshot.rows, files=prepared.files)

    def _tidy(self, step: Tidy) -> None:
        try:
            self._tidying.tidy(step.table)
        except Exception:
            # The update has landed: what went wrong afterwards must not make it look as if it had not.
            _logger.warning("Housekeeping of '%s' failed; it is tried again later.", step.table.name, exc_info=True)


def pool_of(track: int) -> str:
    """The name of the Spark pool that a track works in."""
    return f"track-{track}"
