"""Runs by seeds: a warehouse lives through faults and deaths, and is looked at all the while."""

from __future__ import annotations

import errno
from collections import Counter
from dataclasses import dataclass
from random import Random

from faults.disk import Fault
from faults.oracle import Oracle, WrongError, is_done
from faults.tables import project
from faults.world import Life, World

_ERRORS = (errno.ENOSPC, errno.EIO, errno.EMFILE)
_CALLS: tuple[tuple[str, ...], ...] = ((), ("sync",), ("create", "write"), ("rename", "link"), ("read", "open"))
"""Kinds of calls that fail together; none: any."""
# Virtual seconds: within them everything must be loaded once the faults have ended.
_PATIENCE = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What has happened in a run."""

    seed: int
    updates: int
    lives: int
    faults: int
    seconds: float
    """Of virtual time."""


def run(seed: int, *, lives: int = 4, files: int = 24) -> Story:
    """One run; a WrongError where something does not hold."""
    world = World(seed)
    rng = Random(world.rng.random())
    oracle = Oracle(world.landed)
    world.temper.failures = rng.choice((0.0, 0.0, 0.05, 0.2))
    world.temper.slowness = rng.choice((0.1, 0.5, 2.0))
    faults = 0
    for _ in range(rng.randint(1, lives)):
        life = world.begin_life()
        faults += _trouble(life, rng)
        lasts = world.turns.steady + rng.uniform(5.0, 60.0)
        while world.turns.steady < lasts and life.task.is_alive() and len(world.landed) < files:
            world.land()
            _go_on(world, life, rng.expovariate(0.5))
            if life.task.is_alive():
                oracle.look(life.disk)
        life.end(by_power_cut=rng.random() < 0.5)
    world.temper.is_mild = True
    life = world.begin_life()
    for table in project().graph:
        # What failed again and again was given up: somebody has seen to it.
        life.catalog.tables.set_status(table, "active")
    while len(world.landed) < files:
        world.land()
    landed = Counter(file.feed for file in world.landed)
    until = world.turns.steady + _PATIENCE
    while not is_done(life, landed) and world.turns.steady < until and life.task.is_alive():
        _go_on(world, life, 1.0)
    if not is_done(life, landed):
        raise WrongError(f"Not all is loaded within {_PATIENCE:.0f} seconds: {life.fault!r}, {life.news[-3:]}")
    oracle.look_at_the_end(life)
    updates = sum(row.updates for row in life.catalog.tables.all().values())
    return Story(seed=seed, updates=updates, lives=world.lives, faults=faults, seconds=world.turns.steady)


def _go_on(world: World, life: Life, seconds: float) -> None:
    """Let time pass, as long as the process lives."""
    until = world.turns.steady + seconds
    world.turns.run(lambda: world.turns.steady >= until or not life.task.is_alive())


def _trouble(life: Life, rng: Random) -> int:
    """Let some calls of the disk fail in this life, and perhaps the process die in the midst of one."""
    count = rng.choice((0, 1, 1, 2, 4))
    for _ in range(count):
        life.disk.faults.append(
            Fault(
                error=rng.choice(_ERRORS),
                calls=frozenset(rng.choice(_CALLS)),
                nth=rng.randint(1, 300),
                times=rng.choice((1, 1, 3, 30)),
            )
        )
    if rng.random() < 0.5:
        life.disk.dies_at = rng.randint(50, 3_000)
    return count
