"""The real runtime in simulated worlds: what must hold does, and what breaks it is found."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from faults.campaign import play, run
from faults.disk import SimulatedDisk
from faults.followed import WrongError
from faults.guards import without
from faults.world import World

from freshtide.world.disk import StrPath


@pytest.mark.parametrize("seed", range(3))
def test_each_row_is_once_where_it_belongs_whatever_happens(seed: int) -> None:
    story = run(seed)
    assert story.updates >= 30


def test_the_same_seed_is_the_same_run() -> None:
    assert run(1) == run(1)


def test_the_same_seed_is_the_same_run_in_every_process() -> None:
    """Whatever order sets have there."""
    assert _history_in_a_process("1") == _history_in_a_process("2")


def _history_in_a_process(hash_seed: str) -> str:
    command = [sys.executable, "-m", "faults", "--first", "4", "--history"]
    surroundings = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
    assert done.stdout
    return done.stdout


def test_a_warehouse_that_forces_nothing_to_disk_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sync = SimulatedDisk.sync

    def only_for_the_producer(disk: SimulatedDisk, path: StrPath) -> None:
        if "/landing" in str(path) or str(path) in ("/", "/sim"):
            sync(disk, path)

    monkeypatch.setattr(SimulatedDisk, "sync", only_for_the_producer)
    with pytest.raises(WrongError):
        for seed in range(20):
            run(seed)


def test_what_happened_is_told_in_order_and_what_is_wrong_last() -> None:
    world = World(0)
    with without("recheck"), pytest.raises(WrongError) as wrong:
        for seed in range(20):
            world = World(seed)
            play(world, "replaced")
    world.history.note("WRONG", f"{wrong.value}")
    told = world.history.lines()
    moments = [float(line.split()[0]) for line in told]
    assert moments == sorted(moments)
    assert {"life", "landed", "replaced", "begins", "computed", "commit"} <= {line.split()[1] for line in told}
    assert "WRONG" in told[-1]
