"""Joint commits that one process began and another finishes, with a power cut at any moment of that."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from faults.disk import Act, DeadError, Fault, SimulatedDisk

from freshtide.storage import FilesCommit, Store, commit_together, finish_interrupted, is_unfinished
from freshtide.storage.journal import UnfinishedFlowError
from freshtide.world import make_folder, sync_tree

_OUT = Path("/sim/out")
_TABLES = Path("/sim/warehouse")
_JOURNAL = _TABLES / "_freshtide/flows/split.1"
_TARGETS = ("one", "two")
_SEEDS = range(8)
_EVER = 1_000_000

Trouble = Callable[[SimulatedDisk, int], None]


def _fails(disk: SimulatedDisk, nth: int) -> None:
    """The disk refuses a sync, and the process goes on."""
    disk.faults.append(Fault(calls=frozenset({"sync"}), nth=nth, error=errno.EIO))


def _dies(disk: SimulatedDisk, nth: int) -> None:
    """The process is killed before a sync; there is power, and all that it wrote is there to be seen."""
    disk.acts.append(Act(calls=frozenset({"sync"}), nth=nth, do=disk.kill))


@pytest.mark.parametrize("trouble", [_fails, _dies])
def test_what_one_process_decided_and_another_finishes_is_whole_after_a_power_cut(trouble: Trouble) -> None:
    was_left = 0
    for disk in _interrupted(trouble):
        was_left += is_unfinished(_JOURNAL, _store(disk))
        cuts = _power_cuts(disk)
        finish_interrupted([_JOURNAL], _store(disk))
        for after in cuts:
            assert _landed(after) in ([], list(_TARGETS)), "all targets land, or none"
    assert was_left > 1, "there was something to finish"


@pytest.mark.parametrize("trouble", [_fails, _dies])
def test_what_another_process_has_finished_lasts(trouble: Trouble) -> None:
    for disk in _interrupted(trouble):
        if is_unfinished(_JOURNAL, _store(disk)):
            finish_interrupted([_JOURNAL], _store(disk))
            for seed in _SEEDS:
                assert _landed(disk.after_power_cut(Random(seed))) == list(_TARGETS)


def _interrupted(trouble: Trouble) -> Iterator[SimulatedDisk]:
    """What the next process finds of a joint commit that met trouble, at each of its syncs in turn."""
    for nth in range(1, _EVER):
        disk = SimulatedDisk()
        commits = _prepared(disk)
        trouble(disk, nth)
        try:
            commit_together(_JOURNAL, commits, _store(disk))
        except (OSError, UnfinishedFlowError, DeadError):
            yield disk.another_process()
        else:
            return


def _prepared(disk: SimulatedDisk) -> list[FilesCommit]:
    commits = []
    make_folder(disk, _JOURNAL)
    for target in _TARGETS:
        staged = _OUT / f".{target}.staged"
        make_folder(disk, staged)
        disk.write(staged / "rows", b"1")
        sync_tree(disk, staged)
        commits.append(FilesCommit(prepared=str(staged), target=str(_OUT / target), names=("rows",)))
    return commits


def _power_cuts(disk: SimulatedDisk) -> list[SimulatedDisk]:
    """What power cuts would leave, before each call from now on: it fills while the disk is used."""
    left: list[SimulatedDisk] = []
    disk.acts.append(Act(times=_EVER, do=lambda: left.extend(disk.after_power_cut(Random(seed)) for seed in _SEEDS)))
    return left


def _landed(disk: SimulatedDisk) -> list[str]:
    """The targets that have their rows once a new start has finished what it finds."""
    finish_interrupted([_JOURNAL], _store(disk))
    found = []
    for target in _TARGETS:
        with suppress(FileNotFoundError):
            if disk.read(_OUT / target / "rows") == b"1":
                found.append(target)
    return found


def _store(disk: SimulatedDisk) -> Store:
    return Store(_TABLES, disk=disk)
