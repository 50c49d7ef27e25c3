"""Runs by seeds: a warehouse lives through faults and deaths, and is looked at all the while."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from faults.books import Books
from faults.followed import WrongError
from faults.lives import Life, open_tables
from faults.pieces import SmallPieces
from faults.tables import BASES, FEEDS, VIEWS, project
from faults.trouble import Lean, Mix, clock_step, drawn, put_into, set_temper
from faults.turns import Process
from faults.world import World
from freshtide.catalog import Catalog, RequestKind
from freshtide.core.arrivals import ArrivalState
from freshtide.core.errors import FreshtideError
from freshtide.runs import Places

# Virtual seconds: within them everything must be loaded once the faults have ended.
_PATIENCE = 1_200.0
_LOOKS_BETWEEN = 5
_FEWEST_UPDATES = 30
_MOST_FILES = 100
# The share of files with which a user looks after the warehouse.
_SEEN_TO = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What has happened in a run."""

    seed: int
    updates: int
    lives: int
    faults: int
    seconds: float
    """Of virtual time."""


@dataclass(slots=True)
class Play:
    """A run that goes on."""

    world: World
    mix: Mix
    rng: Random
    faults: int = 0
    ends_at: dict[str, float] = field(default_factory=dict)
    """By life that meets trouble when it ends, unless something ends it before."""

    @property
    def is_wanted(self) -> bool:
        """Whether there is more to come: enough files, and updates, with those that are due for files that wait."""
        landed = len(self.world.producer.files)
        return landed < self.mix.files or (self._updates_at_least < _FEWEST_UPDATES and landed < _MOST_FILES)

    @property
    def _updates_at_least(self) -> int:
        oracle = self.world.oracle
        behind = [name for name in BASES if oracle.missing(name)]
        views = sum(view.source in behind or oracle.could_be_fresher(name) for name, view in VIEWS.items())
        return self.world.updates + len(behind) + views

    def step(self) -> None:
        """Something happens, and then some time passes."""
        world, mix, rng = self.world, self.mix, self.rng
        if not world.lives:
            self._begin()
        elif (
            mix.rivals != "none"
            and world.begun < mix.lives
            and len(world.lives) == 1
            and rng.random() < (0.8 if world.lives[0].is_stopped else 0.1)
        ):
            self._begin_rival()
        if rng.random() < mix.replaced:
            world.producer.replace(world.disk.another_process())
        if rng.random() < mix.clock_steps:
            world.step_clock(clock_step(rng))
        if rng.random() < _SEEN_TO:
            self._see_to_it(rng.choice(world.lives).books)
        if mix.backfills and rng.random() < mix.backfills:
            self._ask_for_a_backfill(rng.choice(world.lives).books)
        name = rng.choice(tuple(BASES))
        if len(world.oracle.missing(name)) < mix.waiting:
            world.producer.land(world.disk.another_process(), BASES[name].feed)
        world.go_on(rng.expovariate(1.0))
        self._end_those_due()
        self._look()

    def _begin(self) -> None:
        machine = (
            self.rng.randrange(len(self.world.machines)) if self.mix.rivals in ("other machine", "own catalog") else 0
        )
        self._live(machine)

    def _begin_rival(self) -> None:
        machines = self.world.machines
        there = machines.index(self.world.lives[0].machine)
        if self.mix.rivals == "same machine":
            if self.rng.random() < 0.5:
                machines[0].delete_lock(Places(project()).lock / "run.lock")
                self.world.history.note("deleted", "the lock file")
            self._live(0)
        else:
            self._live(1 - there)

    def _live(self, machine: int) -> None:
        life = self.world.begin_life(machine=machine, books=machine if self.mix.rivals == "own catalog" else 0)
        if self.world.begun > self.mix.lives:
            return
        self.faults += put_into(life, self.world, self.mix, self.rng)
        self.ends_at[life.name] = self.world.turns.steady + self.rng.uniform(5.0, self.mix.longest_life)

    def _end_those_due(self) -> None:
        world = self.world
        for life in list(world.lives):
            # Who sleeps is let wake up: that is when it may do harm.
            is_due = world.turns.steady >= self.ends_at.get(life.name, math.inf)
            if life.is_alive and not life.is_stopped and is_due:
                if self.rng.random() < self.mix.power_cuts:
                    world.cut_power()
                else:
                    life.die()

    def _look(self) -> None:
        self.world.require_right()
        for life in self.world.bury():
            _require_reason(life)
        for books in self.world.books:
            self.world.oracle.require_landed(books.numbers(), books.loads())

    def _see_to_it(self, books: Books) -> None:
        """What was given up or put aside is taken up again, as a user would."""
        if not books.needs_a_user:
            return
        now, catalog = self.world.turns.now, books.catalog(Process("a user"))
        for row in catalog.tables.all().values():
            if row.status == "failed":
                self._put_back(row.name, catalog)
                catalog.requests.add(RequestKind.RESUME, row.name, at=now)
        for file in catalog.arrivals.in_state(ArrivalState.QUARANTINED):
            catalog.requests.add(RequestKind.RETRY, file.position, at=now)
        for file in catalog.arrivals.in_state(ArrivalState.REFUSED):
            # A table that has loaded one content, and is asked for another, cannot be computed anew.
            known = catalog.arrivals.by_paths(file.feed, [file.position])[file.position]
            self.world.producer.put_back(self.world.disk.another_process(), known.position, known.digest)

    def _ask_for_a_backfill(self, books: Books) -> None:
        table = self.rng.choice((*BASES, *VIEWS))
        books.catalog(Process("a user")).requests.add(RequestKind.BACKFILL, table, at=self.world.turns.now)

    def _put_back(self, table: str, catalog: Catalog) -> None:
        """A table cannot be computed anew where files have other content than it was computed from."""
        if table in BASES:
            producer, feed, disk = self.world.producer, BASES[table].feed, self.world.disk.another_process()
            landed = [file.path for file in producer.files if file.feed == feed]
            for known in catalog.arrivals.by_paths(feed, landed).values():
                # One that could not be read yet is known without a digest.
                if known.digest not in ("", producer.by_path[known.position].now):
                    producer.put_back(disk, known.position, known.digest)

    def end_well(self) -> int:
        """No more faults: everything is loaded within bounded time, and is what it should be; how many updates."""
        world = self.world
        world.temper.soothe()
        world.history.note("faults", "are over")
        for life in self._last():
            self._finish(life)
            while world.updates < _FEWEST_UPDATES:
                world.producer.land(world.disk.another_process(), self.rng.choice(tuple(FEEDS)))
                self._finish(life)
        tables = open_tables(world.disk.another_process(), lambda: 0.0)
        for name in (*BASES, *VIEWS):
            snapshot = tables.table(name).snapshot
            world.oracle.require_same(name, [] if snapshot is None else snapshot.paths(snapshot.files))
        return world.updates

    def _finish(self, life: Life) -> None:
        """Wait until a process has done all that there is to do."""
        world, begun = self.world, self.world.turns.steady
        while (waits_for := world.oracle.waits_for(life.books.loads())) is not None:
            if world.turns.steady - begun > _PATIENCE or not life.is_alive:
                raise WrongError(f"Not all is done within {_PATIENCE:.0f} seconds: {waits_for}; {life.fault!r}.")
            self._see_to_it(life.books)
            for _ in range(_LOOKS_BETWEEN):
                world.go_on(1.0)
                world.oracle.require_landed(life.books.numbers(), life.books.loads())

    def _last(self) -> Iterator[Life]:
        """Those that bring all to its end: who lives in peace, or who begins once the others have died."""
        world = self.world
        if self.mix.rivals == "own catalog":
            # Whoever keeps books of his own finds in the logs what others have done, and does nothing of it again.
            for place in (1, 0):
                self._end_all_but([])
                yield world.begin_life(machine=place, books=place)
            return
        peaceful = [life for life in world.lives if life.name not in self.ends_at]
        self._end_all_but(peaceful)
        yield peaceful[0] if peaceful else world.begin_life()

    def _end_all_but(self, kept: list[Life]) -> None:
        for life in self.world.lives:
            if life not in kept:
                life.die()
        self.world.lives = kept


def run(seed: int, lean: Lean | None = None) -> Story:
    """One run; a WrongError where something does not hold. `lean` tells what kind of trouble there shall be."""
    return play(World(seed), lean)


def play(world: World, lean: Lean | None = None) -> Story:
    rng = Random(world.rng.random())
    set_temper(world, rng)
    going_on = Play(world, drawn(rng, lean), rng)
    if going_on.mix.backfills:
        world.pieces = SmallPieces
    try:
        while going_on.is_wanted:
            going_on.step()
        updates = going_on.end_well()
    finally:
        world.end()
    seconds = world.turns.steady
    return Story(seed=world.seed, updates=updates, lives=world.begun, faults=going_on.faults, seconds=seconds)


def _require_reason(life: Life) -> None:
    """A process that has ended by itself says why in words for the user: all else is a fault of the program."""
    if life.fault is not None and not isinstance(life.fault, FreshtideError | OSError):
        raise WrongError(f"{life.name} ended by {life.fault!r}.") from life.fault
