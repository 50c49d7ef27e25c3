"""A world by a seed: machines over one storage, databases, a producer of files, and processes that run a warehouse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from faults.books import Books
from faults.computer import Temper
from faults.disk import SimulatedDisk
from faults.history import History
from faults.lives import Life
from faults.machines import Machine
from faults.oracle import Oracle
from faults.producer import Producer
from faults.tables import BASES, FEEDS, ROOT, VIEWS, project
from faults.turns import Turns
from freshtide.runtime.pieces import PieceSizes
from freshtide.storage import FAN_IN

# Virtual seconds that a call of the disk takes: a run looks for files less often where looking takes long.
_CALL = 0.005
_MACHINES = 2
_EARLY = 3


class World:
    """All that there is."""

    def __init__(self, seed: int, *, call: float = _CALL) -> None:
        """`call` is how long one of the disk takes."""
        self.seed = seed
        self.rng = Random(seed)
        self.turns = Turns(Random(self.rng.random()))
        self.history = History(lambda: self.turns.steady)
        self.disk = SimulatedDisk(
            lambda: self.turns.now, spend=partial(self.turns.spend, call), tell=self._done_to_disk
        )
        self.producer = Producer(Random(self.rng.random()), lambda: self.turns.now, self.history.note)
        self.oracle = Oracle(self.producer, self.disk.another_process())
        self.temper = Temper(rng=Random(self.rng.random()))
        self.books = [Books(place) for place in range(2)]
        self.machines = _machines(0)
        self.lives: list[Life] = []
        self.begun = 0
        self.declared = project()
        """What the files of the project say."""
        self.pieces: Callable[[], PieceSizes] = PieceSizes
        """How much one update takes of a backlog or a rebuild, in processes that begin from now on."""
        self.outgrown: dict[str, str] = {}
        """Tables to which no row can be added as they are when a process begins, and why."""
        self.fan_in = Random(f"fan-in {seed}").choice((FAN_IN, FAN_IN, FAN_IN, _EARLY))
        """How many files are merged into one: in some worlds so few that it happens within a run."""
        self.power_cuts = 0
        for feed in FEEDS:
            self.disk.make_folders(ROOT / "landing" / feed)
        self._make_durable(ROOT / "landing")

    def _make_durable(self, folder: Path) -> None:
        for path, _, _ in self.disk.walk(folder):
            self.disk.sync(path)
        for above in (folder.parent, *folder.parent.parents):
            self.disk.sync(above)

    def _done_to_disk(self, what: str, about: str) -> None:
        if what != "named":
            self.history.note(what, about)
            return
        told = self.oracle.named(about)
        if told is not None:
            self.history.note("commit", told)

    def begin_life(self, *, machine: int = 0, books: int = 0) -> Life:
        self.begun += 1
        life = Life(
            f"life {self.begun}",
            turns=self.turns,
            disk=self.disk.another_process(),
            machine=self.machines[machine],
            books=self.books[books],
            temper=self.temper,
            tell=self.history.note,
            declares=lambda: self.declared,
            pieces=self.pieces,
            fan_in=self.fan_in,
            outgrown=self.outgrown,
        )
        self.lives.append(life)
        return life

    @property
    def updates(self) -> int:
        """How many have landed in tables of the project."""
        return sum(self.oracle.table(name).number for name in (*BASES, *VIEWS))

    def step_clock(self, seconds: float) -> None:
        """The clock of all machines is set."""
        self.turns.set_by += seconds
        self.history.note("clock", f"is set by {seconds:+.0f} seconds")

    def cut_power(self) -> None:
        """All processes die, and what was not synced is lost, torn or kept."""
        self.history.note("power", "is cut")
        for life in self.lives:
            life.die()
        self.lives = []
        self.power_cuts += 1
        self.disk = self.disk.crash(Random(self.rng.random()))
        self.machines = _machines(self.power_cuts)
        for lost in self.oracle.reopen(self.disk.another_process()):
            self.history.note("lost", lost)

    def end(self) -> None:
        """Nothing happens here any more."""
        for life in self.lives:
            life.disk.kill()
        self.turns.end()

    def bury(self) -> list[Life]:
        """Those whose processes have ended by themselves or died."""
        over = [life for life in self.lives if not life.is_alive]
        self.lives = [life for life in self.lives if life.is_alive]
        for life in over:
            if life.process.is_alive:
                life.die()
        return over

    def go_on(self, seconds: float) -> None:
        """Let time pass, until something is found to be wrong, or nobody lives any more."""
        until = self.turns.steady + seconds
        turns, oracle = self.turns, self.oracle
        turns.run(lambda: turns.steady >= until or oracle.wrong is not None or not self._anybody_lives())
        self.require_right()

    def require_right(self) -> None:
        if self.oracle.wrong is not None:
            raise self.oracle.wrong

    def _anybody_lives(self) -> bool:
        return any(life.is_alive for life in self.lives)


def _machines(starts: int) -> list[Machine]:
    """After each start they are others, as far as anybody can tell."""
    return [Machine(f"machine {number} after start {starts}") for number in range(_MACHINES)]
