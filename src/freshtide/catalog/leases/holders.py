"""A process that holds the lease, told apart from all others, and whether it is still there."""

from __future__ import annotations

import os
import platform
import uuid
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")
_REMAINS = {"Z", "X"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One grant of the lease, to one process."""

    epoch: int
    nonce: str
    host: str
    machine: str
    """Another one after each start of the machine; containers on one machine share it."""
    namespace: int
    """Within it a process id means one process."""
    pid: int
    born: int | None
    """When the process began, on its machine's own scale: process ids are used again."""
    lock: str
    """The lock file that the process has locked: one that was deleted and made anew is another one."""
    taken_at: float

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def is_within_sight(self) -> bool:
        """Whether this process can see if that one lives."""
        return (self.machine, self.namespace) == (_machine(), _namespace())

    @property
    def is_gone(self) -> bool:
        """Whether the process is known to have ended."""
        return self.is_within_sight and not _lives(self.pid, self.born)

    def had_locked(self, lock: str) -> bool:
        """Whether it is dead if this process has got that lock: within a machine a lock goes with its process."""
        return (self.machine, self.lock) == (_machine(), lock)


def this_process(*, epoch: int, lock: str, taken_at: float) -> Holder:
    pid = os.getpid()
    return Holder(
        epoch=epoch,
        nonce=uuid.uuid4().hex,
        host=platform.node(),
        machine=_machine(),
        namespace=_namespace(),
        pid=pid,
        born=_born(pid),
        lock=lock,
        taken_at=taken_at,
    )


def unknown(epoch: int) -> Holder:
    """A process that died, or was interrupted, before it had written itself down."""
    return Holder(
        epoch=epoch, nonce="", host="an unknown host", machine="", namespace=0, pid=0, born=None, lock="", taken_at=0.0
    )


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


def _lives(pid: int, born: int | None) -> bool:
    """Whether a process that began at that moment is there; true where nobody can tell."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # It is another user's.
    return _state(pid) not in _REMAINS and (born is None or _born(pid) in {born, None})


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
