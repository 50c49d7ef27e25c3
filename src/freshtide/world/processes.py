"""Processes: this one, told apart from all others, and whether another is still there."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_PROCESSES = Path("/proc")
_REMAINS = {"Z", "X"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What tells a process from all others."""

    host: str
    machine: str
    """Another one after each start of the machine; containers on one machine share it."""
    namespace: int
    """Within it a process id means one process."""
    pid: int
    born: int | None
    """When the process began, on its machine's own scale: process ids are used again."""


class Processes(Protocol):
    """What a process can know of itself and of others."""

    def this(self) -> Process: ...

    def lives(self, pid: int, born: int | None) -> bool:
        """Whether a process of the own namespace, that began at that moment, is there; true where nobody can tell."""
        ...


class SystemProcesses:
    """Those of the operating system."""

    def this(self) -> Process:
        pid = os.getpid()
        return Process(host=platform.node(), machine=_machine(), namespace=_namespace(), pid=pid, born=_born(pid))

    def lives(self, pid: int, born: int | None) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # It is another user's.
        return _state(pid) not in _REMAINS and (born is None or _born(pid) in {born, None})


def _machine() -> str:
    try:
        return (_PROCESSES / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node()


def _namespace() -> int:
    try:
        return (_PROCESSES / "self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _born(pid: int) -> int | None:
    found = _facts(pid)
    return int(found[19]) if found else None


def _state(pid: int) -> str | None:
    found = _facts(pid)
    return found[0] if found else None


def _facts(pid: int) -> list[str]:
    """What the system tells of a process, from its state on; nothing where it does not."""
    try:
        # The name of the program, in brackets before, may hold anything.
        return (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
