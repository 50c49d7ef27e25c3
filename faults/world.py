"""A world by a seed: a machine with disk and database, a producer of files, and processes that run a warehouse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from faults.books import Books
from faults.computer import SimulatedComputer, Temper, instant
from faults.deltalog import PlainDeltaLogs
from faults.disk import SimulatedDisk
from faults.machines import Machine
from faults.tables import FEEDS, LATENESS, ROOT, Row, project
from faults.turns import Process, TurnClock, Turns, TurnThreads
from freshtide.runs import Places
from freshtide.runtime.parts import RunParts
from freshtide.runtime.stores import open_store
from freshtide.runtime.unchanged import watched
from freshtide.storage import Store
from freshtide.world import Flag

_HEADER = "id,ts,k,v"
_KEYS = "pqr"
# Virtual seconds that a call of the disk takes: a run looks for files less often where looking takes long.
_CALL = 0.002


@dataclass(slots=True, kw_only=True)
class Landed:
    """What a producer has put into a folder for good."""

    feed: str
    path: str
    rows: list[Row]
    bad: list[str]


@dataclass(slots=True)
class World:
    """All that there is."""

    seed: int
    rng: Random = field(init=False)
    turns: Turns = field(init=False)
    books: Books = field(init=False)
    disk: SimulatedDisk = field(init=False)
    temper: Temper = field(init=False)
    machine: Machine = field(init=False)
    landed: list[Landed] = field(init=False, default_factory=list)
    lives: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.turns = Turns(Random(self.rng.random()))
        self.books = Books()
        self.disk = SimulatedDisk(lambda: self.turns.now, spend=partial(self.turns.spend, _CALL))
        self.temper = Temper(rng=Random(self.rng.random()))
        self.machine = Machine("machine 1")
        for feed in FEEDS:
            self.disk.make_folders(ROOT / "landing" / feed)
        self._make_durable(ROOT / "landing")

    def _make_durable(self, folder: Path) -> None:
        for path, _, _ in self.disk.walk(folder):
            self.disk.sync(path)
        for above in (folder.parent, *folder.parent.parents):
            self.disk.sync(above)

    def land(self) -> None:
        """A producer puts a file into a folder, durably: some of its rows are bad, and some come too late."""
        rng, number = self.rng, len(self.landed)
        feed = rng.choice(FEEDS)
        now = int(self.turns.now * 1_000_000)
        rows, bad, lines = [], [], []
        for place in range(rng.randint(1, 4)):
            back = rng.uniform(0.0, 3.0 * LATENESS) if rng.random() < 0.2 else rng.uniform(0.0, 5.0)
            row = Row(number * 10 + place, now - int(back * 1_000_000), rng.choice(_KEYS), rng.randint(-20, 100))
            if rng.random() < 0.1:
                bad.append(f"{row.id},never,{row.k},{row.v}")
                lines.append(bad[-1])
            else:
                rows.append(row)
                lines.append(f"{row.id},{instant(row.ts)},{row.k},{row.v}")
        path = ROOT / "landing" / feed / f"{number:06d}.csv"
        disk = self.disk.another_process()
        disk.write(path.with_suffix(".part"), "\n".join([_HEADER, *lines, ""]).encode())
        disk.sync(path.with_suffix(".part"))
        disk.rename(path.with_suffix(".part"), path)
        disk.sync(path.parent)
        self.landed.append(Landed(feed=feed, path=str(path), rows=rows, bad=bad))

    def begin_life(self) -> Life:
        self.lives += 1
        return Life(self, Process(f"life {self.lives}"), self.disk)


def open_tables(disk: SimulatedDisk, now: Callable[[], float]) -> Store:
    """The tables on a disk, as one process sees it."""
    return open_store(project(), disk, PlainDeltaLogs(disk, now))


class Life:
    """One process that runs the warehouse, from its start to its end, whatever that is."""

    def __init__(self, world: World, process: Process, disk: SimulatedDisk) -> None:
        self.process = process
        self.disk = disk
        self._world = world
        self._own = world.machine.start()
        threads, clock = TurnThreads(world.turns, process), TurnClock(world.turns)
        declared = project()
        places = Places(declared)
        self.store = open_tables(disk, clock.now)
        self.catalog = world.books.catalog(process)
        self._parts = RunParts(
            project=declared,
            places=places,
            disk=disk,
            clock=clock,
            threads=threads,
            lock=self._own.lock,
            processes=self._own,
            catalog=self.catalog,
            store=self.store,
            computer=SimulatedComputer(
                self.store,
                disk=disk,
                clock=clock,
                threads=threads,
                temper=world.temper,
                watch=partial(watched, disk),
            ),
            checks=list,
        )
        self.stop: Flag = threads.flag()
        self.news: list[str] = []
        self.fault: BaseException | None = None
        self.task = threads.spawn(self._run, name="main")

    def _run(self) -> None:
        try:
            with self._parts.leased(tell=self.news.append):
                self._parts.engine().run(stop=self.stop, on_news=self.news.append)
        except Exception as error:
            self.fault = error

    def end(self, *, by_power_cut: bool) -> None:
        """The process dies in the midst of what it does, alone or with the whole machine."""
        world = self._world
        self.process.is_alive = False
        if by_power_cut:
            world.disk = self.disk.crash(Random(world.rng.random()))
            world.machine = Machine(f"machine {world.lives + 1}")
        else:
            self.disk.kill()
            self._own.kill()
            world.disk = self.disk.another_process()
