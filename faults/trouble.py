"""What a seed has in store: which kinds of trouble a run meets, and how they get into the lives of its processes."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Literal

from faults.disk import Act, Fault
from faults.lives import Life
from faults.world import World

_ERRORS = (errno.ENOSPC, errno.EIO, errno.EMFILE)
_FAILING: tuple[tuple[str, ...], ...] = ((), ("sync",), ("create", "write"), ("rename", "link"), ("read", "open"))
"""Kinds of calls that fail together; none: any."""
_COMMITTING = ("write", "sync", "link", "remove")
"""The calls that publish an entry of a log, in their order: before, between and after them is where it matters."""
# Not those that read: Arrow asks for these on threads of its own, which take no turns.
_INTERRUPTED = frozenset(("write", "sync", "link", "rename", "remove", "names", "look", "create", "touch"))
_CLOCK_STEPS = (-86_400.0, -600.0, -5.0, 5.0, 600.0, 3_600.0)
# A lease lasts 15 seconds: a process that sleeps longer loses it to whoever waits. Most harm can be done by one that
# wakes up when the other has just begun.
_SHORT_SLEEP, _LONG_SLEEP = 5.0, 40.0
_TAKEN_OVER = (15.0, 22.0)

Rivals = Literal["none", "same machine", "other machine", "own catalog"]
_MORE_LIVES: Mapping[Rivals, int] = {"none": 0, "same machine": 1, "other machine": 1, "own catalog": 3}
Lean = Literal["deaths", "power cuts", "rivals", "replaced", "backfills"]
"""What a run is to have much of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Which kinds of trouble, and how much of each."""

    files: int
    """How many land at least."""
    waiting: int
    """How many of a feed wait at most: those that wait together are loaded together, and bring fewer updates."""
    lives: int
    """How many processes meet trouble. Who comes after them has peace: a start costs about as much as an update."""
    longest_life: float
    disk_faults: Sequence[int]
    """How many there may be in a life: one of these."""
    deaths: float
    """The share of lives that end in the midst of a call, and not between two."""
    power_cuts: float
    """The share of deaths that all of the world dies."""
    rivals: Rivals
    sleeps: float
    """The share of lives that are stopped once."""
    clock_steps: float
    """The share of files with which the clock is set."""
    replaced: float
    """The share of files that are replaced by others."""
    backfills: float = 0.0
    """The share of files with which a user asks for a backfill of some table. Then everything goes in small pieces."""


def drawn(rng: Random, lean: Lean | None = None) -> Mix:
    """The mix of a run. Most have a few kinds of trouble: so each is met alone, and with each other."""
    rivals: Rivals = rng.choice(("none", "none", "none", "same machine", "other machine", "own catalog"))
    mix = Mix(
        files=rng.randint(8, 12),
        waiting=rng.choice((1, 1, 3)),
        lives=rng.randint(1, 3) + _MORE_LIVES[rivals],
        longest_life=rng.choice((20.0, 60.0, 60.0, 200.0)),
        disk_faults=rng.choice(((0,), (0, 1, 1, 2, 4))),
        deaths=rng.choice((0.0, 0.5, 0.8)),
        power_cuts=rng.choice((0.0, 0.5, 1.0)),
        rivals=rivals,
        sleeps=0.7 if rivals != "none" else rng.choice((0.0, 0.0, 0.3)),
        clock_steps=rng.choice((0.0, 0.0, 0.0, 0.1)),
        replaced=rng.choice((0.0, 0.0, 0.2)),
    )
    if rivals == "own catalog":
        # They meet in the logs alone: it takes long lives, and some who sleep, until they do.
        calm = replace(mix, sleeps=1.0, longest_life=200.0)
        mix = replace(calm, deaths=0.0) if mix.deaths < 0.8 else calm
    match lean:
        case "deaths":
            return replace(mix, lives=6, deaths=1.0, power_cuts=0.5, longest_life=60.0)
        case "power cuts":
            return replace(mix, lives=6, deaths=1.0, power_cuts=1.0, longest_life=60.0)
        case "rivals":
            return replace(mix, lives=6, rivals="own catalog", sleeps=1.0, deaths=0.0, longest_life=200.0)
        case "replaced":
            return replace(mix, replaced=0.5)
        case "backfills":
            return replace(mix, files=mix.files + 20, lives=rng.randint(2, 4), backfills=0.2)
        case None:
            return mix


def set_temper(world: World, rng: Random) -> None:
    """How the computer is, for the whole run."""
    temper = world.temper
    temper.failures = rng.choice((0.0, 0.0, 0.05, 0.2))
    temper.slowness = rng.choice((0.1, 0.3, 1.0))
    temper.hangs = rng.choice((0.0, 0.0, 0.0, 0.02))
    temper.deaths = rng.choice((0.0, 0.0, 0.0, 0.03))


def put_into(life: Life, world: World, mix: Mix, rng: Random) -> int:
    """Let calls of a life fail, and stop or end it in the midst of one; how many faults there are."""
    faults = [_fault(rng) for _ in range(rng.choice(mix.disk_faults))]
    life.disk.faults += faults
    if rng.random() < mix.deaths:
        _happens(life, world.cut_power if rng.random() < mix.power_cuts else life.die, rng)
    if rng.random() < mix.sleeps:
        seconds = rng.choice((_SHORT_SLEEP, _LONG_SLEEP, rng.uniform(*_TAKEN_OVER), rng.uniform(*_TAKEN_OVER)))
        sleep = partial(life.sleep, seconds)
        if rng.random() < 0.7:
            # Just before it commits, and after it has asked whether it may.
            publishing = frozenset(("write", "link", "rename"))
            life.disk.acts.append(Act(calls=publishing, below="/_delta_log", nth=rng.randint(1, 15), do=sleep))
        else:
            _happens(life, sleep, rng)
    return len(faults)


def clock_step(rng: Random) -> float:
    return rng.choice(_CLOCK_STEPS)


def _fault(rng: Random) -> Fault:
    return Fault(
        error=rng.choice(_ERRORS),
        calls=frozenset(rng.choice(_FAILING)),
        nth=rng.randint(1, 200),
        times=rng.choice((1, 1, 3, 30)),
    )


def _happens(life: Life, do: Callable[[], None], rng: Random) -> None:
    """At a call of the disk, around a commit, around a journal, or before a statement of the database."""
    match rng.choice(("call", "commit", "commit", "journal", "statement")):
        case "call":
            life.disk.acts.append(
                Act(calls=frozenset(("sync", "write", "names", "look")), nth=rng.randint(20, 500), do=do)
            )
        case "commit":
            calls = frozenset((rng.choice(_COMMITTING),))
            life.disk.acts.append(Act(calls=calls, below="/_delta_log", nth=rng.randint(1, 25), do=do))
        case "journal":
            life.disk.acts.append(Act(below="/flows/", nth=rng.randint(1, 40), do=do))
        case "statement":
            life.process.at_statement[rng.randint(50, 600)] = do
