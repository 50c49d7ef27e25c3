"""One process that runs the warehouse, from its start to its end, whatever that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from faults.books import Books
from faults.computer import SimulatedComputer, Temper
from faults.content import PlainRows
from faults.deltalog import PlainDeltaLogs
from faults.disk import SimulatedDisk
from faults.machines import Machine
from faults.tables import project
from faults.turns import Process, TurnClock, Turns, TurnThreads
from freshtide.project import Project
from freshtide.runs import Places
from freshtide.runtime.parts import RunParts, open_store
from freshtide.runtime.pieces import PieceSizes
from freshtide.storage import FAN_IN, Store
from freshtide.world import Flag


def open_tables(disk: SimulatedDisk, now: Callable[[], float]) -> Store:
    """The tables on a disk, as one process sees it."""
    return open_store(project(), disk, PlainDeltaLogs(disk, now), PlainRows())


class Life:
    """A process at work."""

    def __init__(
        self,
        name: str,
        *,
        turns: Turns,
        disk: SimulatedDisk,
        machine: Machine,
        books: Books,
        temper: Temper,
        tell: Callable[[str, str], None],
        declares: Callable[[], Project],
        pieces: Callable[[], PieceSizes] = PieceSizes,
        fan_in: int = FAN_IN,
        outgrown: Mapping[str, str] | None = None,
    ) -> None:
        """`declares` is asked for the project at the start, and whenever the files of it are read again."""
        self.name = name
        self.process = Process(name)
        self.disk = disk
        self.machine = machine
        self.books = books
        self._turns = turns
        self._tell = tell
        self._own = machine.start()
        threads, clock = TurnThreads(turns, self.process), TurnClock(turns)
        declared = declares()
        store = open_tables(disk, clock.now)
        self.catalog = books.catalog(self.process)
        computer = SimulatedComputer(store, clock=clock, threads=threads, temper=temper, tell=self._say)
        self._parts = RunParts(
            project=declared,
            places=Places(declared),
            disk=disk,
            clock=clock,
            threads=threads,
            lock=self._own.lock,
            processes=self._own,
            catalog=self.catalog,
            store=store,
            computer=computer,
            checks=computer.checks,
            reload=declares,
            pieces=pieces,
            fan_in=fan_in,
            outgrown=lambda _project, _computer: outgrown or {},
            # What it computes it knows of each table by its name.
            recompute=lambda _project: computer,
        )
        self._stop: Flag = threads.flag()
        self.fault: Exception | None = None
        self._task = threads.spawn(self._run, name="main")
        tell("life", f"{name} begins on {machine.name}")

    @property
    def is_alive(self) -> bool:
        return self.process.is_alive and self._task.is_alive()

    @property
    def is_stopped(self) -> bool:
        return self.process.stopped_in is not None

    def _run(self) -> None:
        try:
            with self._parts.leased(tell=partial(self._say, "says")):
                self._say("leased", "may write")
                self._parts.engine().run(stop=self._stop, on_news=partial(self._say, "says"))
        except Exception as error:
            self.fault = error
            self._say("ends", f"{type(error).__name__}: {error}")

    def sleep(self, seconds: float) -> None:
        """Stop in the midst of what one of its threads does. A transaction of the database is ended before."""
        if not self.books.is_in_transaction:
            self._say("stops", f"for {seconds:.0f} seconds")
            self._turns.stop(seconds)
            self._say("goes on", "")

    def die(self) -> None:
        """End at once, in the midst of what it does. What it has written stays."""
        self.process.is_alive = False
        self.disk.kill()
        self._own.kill()
        self._say("dies", "")

    def _say(self, what: str, about: str) -> None:
        self._tell(what, f"{self.name}: {about}" if about else self.name)
