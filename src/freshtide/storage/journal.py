"""The journal of a joint commit: all targets of a flow land or none, and there is a point from which on it is all.

    prepared    no journal. What was prepared is nowhere to be seen; where the run ends here, it is thrown away.
    decided     `journal.json` is there, whole and on disk for good: it lists all commits. From here on they will be
                carried out, and nothing is ever taken back, because somebody may have used what he saw. What could
                refuse a commit for good was asked before.
    void        another process has the right to write by now, and has made the next update of a target before any of
                these commits was there: whoever wrote the journal had slept through that. It is thrown away.
    landed      all commits have been carried out. The journal is removed, then what is left beside the targets.

Where carrying out fails or dies, the journal stays and with it all that it lists. Whoever comes next to one of the
targets finishes it first: the next update of the table that the flow loads, the next run of any flow, the next start.
That it can be seen does not tell that it is on disk: who wrote it may have come no further. So that is made sure first.
Each commit tells by what it finds whether it has landed (`jointcommits.py`), so finishing can be tried as often as need
be, also after all has landed. A journal that is not whole was never decided on: it has another name until it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from freshtide.core.errors import LeaseLostError, SurroundingsError
from freshtide.crashpoints import reach
from freshtide.storage.jointcommits import KINDS, Commit, Fate
from freshtide.storage.store import Store
from freshtide.world import Disk, sync_files

_JOURNAL = "journal.json"
# The folders above that of a flow which the run has made: those of all flows, and of what is beside the tables.
_NAMED_BY = 3


class UnfinishedFlowError(SurroundingsError):
    """The targets of a flow are committed in part: nothing else may be done to them before the rest is."""

    def __init__(self, flow: str, problem: str) -> None:
        super().__init__(
            f"The targets of the flow '{flow}' are committed in part: {problem}",
            way_out="Nothing is lost: the rest is committed as soon as it can be, before anything else is done there.",
        )


def journal_folder(place: Path, flow: str, store: Store) -> Path:
    """Where a flow keeps its journal, and all that it needs meanwhile.

    Each right to write has a folder of its own: who sleeps through the loss of his touches nothing of his successor.
    """
    epoch = store.authority.epoch
    return place / (f"{flow}.{epoch}" if epoch else flow)


def commit_together(folder: Path, commits: Sequence[Commit], store: Store) -> None:
    """Carry out all commits or none; the journal is kept in the folder meanwhile."""
    for commit in commits:
        commit.check(store)
    store.authority.require()
    write_journal(store.disk, folder, commits)
    reach("flow-journal")
    _carry_out(folder, commits, store)


def is_unfinished(folder: Path, store: Store) -> bool:
    """Whether there is a journal that has still to be finished."""
    return store.disk.exists(folder / _JOURNAL)


def finish_interrupted(folders: Iterable[Path], store: Store) -> None:
    """Finish what was decided and has not landed yet, as far as it is known. Then nobody needs the folders any more."""
    for folder in folders:
        if is_unfinished(folder, store):
            _finish(folder, _read_journal(store.disk, folder), store)
        store.disk.remove_tree(folder)


def write_journal(disk: Disk, folder: Path, commits: Sequence[Commit]) -> None:
    """Decide that it will be done, whatever happens to this process."""
    whole = folder / _JOURNAL
    partial = whole.with_suffix(".partial")
    disk.write(partial, json.dumps([{"kind": commit.kind, **commit.as_json()} for commit in commits]).encode())
    sync_files(disk, [partial])
    disk.rename(partial, whole)
    _make_lasting(disk, folder)


def _make_lasting(disk: Disk, folder: Path) -> None:
    """Force the name of the journal, and those of the folders above it, to disk.

    Whoever made the folder, or gave the journal its name, may have died, or failed, before these were there for good.
    """
    for place in (folder, *folder.parents[:_NAMED_BY]):
        disk.sync(place)


def _read_journal(disk: Disk, folder: Path) -> list[Commit]:
    listed = json.loads(disk.read(folder / _JOURNAL))
    return [KINDS[each.pop("kind")].from_json(each) for each in listed]


def _is_void(commits: Sequence[Commit], store: Store) -> bool:
    fates = [commit.fate(store) for commit in commits]
    return Fate.OVERTAKEN in fates and Fate.LANDED not in fates


def _finish(folder: Path, commits: Sequence[Commit], store: Store) -> None:
    with _in_words(folder):
        for commit in commits:
            commit.mend(store)
        is_void = _is_void(commits, store)
        if is_void:
            _close(folder, store)
        else:
            # It can be seen, and may not be on disk yet: lost in the midst, it would leave the targets as they are.
            _make_lasting(store.disk, folder)
    if not is_void:
        _carry_out(folder, commits, store)


def _carry_out(folder: Path, commits: Sequence[Commit], store: Store) -> None:
    with _in_words(folder):
        for commit in commits:
            commit.carry_out(store)
            reach("flow-committed")
        reach("flow-landed")
        _close(folder, store)
    for commit in commits:
        commit.tidy(store)


def _close(folder: Path, store: Store) -> None:
    store.disk.remove(folder / _JOURNAL)
    store.disk.sync(folder)


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    try:
        yield
    except LeaseLostError:
        raise
    except Exception as error:
        raise UnfinishedFlowError(folder.name.partition(".")[0], f"{error}") from error
