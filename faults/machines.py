"""Machines with processes that live, hold locks and die. A lock goes with its process, and all go with the power."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from freshtide.world import Process


@dataclass(slots=True)
class Machine:
    """A machine between two starts of it."""

    name: str
    processes: set[int] = field(default_factory=set)
    """Ids of those that live."""
    locks: dict[str, int] = field(default_factory=dict)
    """By identity the process that has it."""
    files: Counter[str] = field(default_factory=Counter)
    """How often each lock file was deleted: the next one is another."""
    _ids: count[int] = field(default_factory=lambda: count(100))

    def start(self) -> SimulatedProcess:
        pid = next(self._ids)
        self.processes.add(pid)
        return SimulatedProcess(self, pid)

    def delete_lock(self, path: Path) -> None:
        """Somebody tidies up: whoever locks the file that is made anew has another lock."""
        self.files[str(path)] += 1

    def end(self, pid: int) -> None:
        """A process dies, and lets go of its locks."""
        self.processes.discard(pid)
        self.locks = {path: holder for path, holder in self.locks.items() if holder != pid}


class SimulatedProcess:
    """The ports of one process that are about processes."""

    def __init__(self, machine: Machine, pid: int) -> None:
        self._machine = machine
        self.pid = pid

    def this(self) -> Process:
        return Process(host=self._machine.name, machine=self._machine.name, namespace=1, pid=self.pid, born=self.pid)

    def lives(self, pid: int, born: int | None) -> bool:
        return pid in self._machine.processes and born in (pid, None)

    def lock(self, path: Path) -> SimulatedLock:
        return SimulatedLock(self._machine, self.pid, str(path))

    def kill(self) -> None:
        self._machine.end(self.pid)


class SimulatedLock:
    """A lock of a machine, for one process."""

    def __init__(self, machine: Machine, pid: int, path: str) -> None:
        self._machine = machine
        self._pid = pid
        self._path = path
        self.identity = ""

    def acquire(self) -> bool:
        self.identity = f"{self._path} {self._machine.files[self._path]}"
        return self._machine.locks.setdefault(self.identity, self._pid) == self._pid

    def release(self) -> None:
        if self._machine.locks.get(self.identity) == self._pid:
            del self._machine.locks[self.identity]
