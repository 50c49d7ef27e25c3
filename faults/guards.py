"""Guards that keep the promises, each of which can be taken out: then something must be found to be wrong.

A guard that can be taken out without anybody noticing either guards nothing, or is not tried by these worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from uuid import UUID

from faults.disk import SimulatedDisk
from faults.tables import project
from freshtide.core.arrivals import Arrival
from freshtide.runs import Places
from freshtide.runtime.unchanged import watched
from freshtide.storage import Commit, Store, StoredTable
from freshtide.storage.deltalog import commit_path, log_folder
from freshtide.storage.entries import Entry
from freshtide.world import Disk, StrPath, make_folder

_TABLES = str(Places(project()).tables)
_FLOWS = str(Places(project()).flows)


def _synced(is_left_out: Callable[[str], bool]) -> AbstractContextManager[Any]:
    """Without the syncs of some paths."""
    sync = SimulatedDisk.sync

    def sync_others(disk: SimulatedDisk, path: StrPath) -> None:
        if not is_left_out(str(path)):
            sync(disk, path)

    return patch.object(SimulatedDisk, "sync", sync_others)


def _compare_and_set() -> AbstractContextManager[Any]:
    """An entry takes the place of another one of the same version."""

    def publish(disk: Disk, folder: Path, version: int, entry: Entry) -> None:
        make_folder(disk, log_folder(folder))
        target = commit_path(folder, version)
        hidden = target.with_name(f".entry-{target.stem}")
        disk.write(hidden, entry.content())
        disk.sync(hidden)
        disk.rename(hidden, target)
        for place in (target.parent, folder, *folder.parents[:2]):
            disk.sync(place)

    return patch("freshtide.storage.tables.publish", publish)


def _identity_of_the_writer() -> AbstractContextManager[Any]:
    """All attempts to commit look alike."""
    return patch("freshtide.storage.records.uuid", SimpleNamespace(uuid4=lambda: UUID(int=0)))


def _rollback() -> AbstractContextManager[Any]:
    """What is beside a table stays, whether the table has landed or not."""
    return patch.object(StoredTable, "roll_back", lambda *_asked, **_given: None)


def _journal() -> AbstractContextManager[Any]:
    """The targets of a flow are committed one by one."""

    def commit_each(_folder: Path, commits: Sequence[Commit], store: Store) -> None:
        for commit in commits:
            commit.carry_out(store)

    return patch("freshtide.storage.landing.commit_together", commit_each)


def _recheck() -> AbstractContextManager[Any]:
    """Nobody looks again at a file once it has been read."""

    def watched_once(disk: Disk, files: Sequence[Arrival]) -> Callable[[], None]:
        watched(disk, files)
        return lambda: None

    return patch("faults.loading.watched", watched_once)


GUARDS: Mapping[str, Callable[[], AbstractContextManager[Any]]] = {
    "sync-entry": lambda: _synced(lambda path: "/.entry-" in path),
    "sync-entry-name": lambda: _synced(lambda path: path.endswith("/_delta_log")),
    "sync-data": lambda: _synced(lambda path: path.startswith(_TABLES) and path.endswith(".parquet")),
    "sync-data-name": lambda: _synced(lambda path: path.rpartition("/")[0] == _TABLES and "_freshtide" not in path),
    "sync-folders": lambda: _synced(lambda path: path == _TABLES),
    "sync-journal": lambda: _synced(lambda path: path.endswith("journal.partial")),
    "sync-journal-name": lambda: _synced(lambda path: path.rpartition("/")[0] == _FLOWS),
    "compare-and-set": _compare_and_set,
    "writer": _identity_of_the_writer,
    "rollback": _rollback,
    "journal": _journal,
    "recheck": _recheck,
}


@contextmanager
def without(guard: str) -> Iterator[None]:
    """As long as this lasts, a guard is not there."""
    with GUARDS[guard]():
        yield
