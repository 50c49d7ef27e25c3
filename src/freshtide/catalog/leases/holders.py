"""A process that holds the lease, as it is written down, and what another one can tell of it."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass

from freshtide.world import Process, Processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One grant of the lease, to one process (`world/processes.py`)."""

    epoch: int
    nonce: str
    host: str
    machine: str
    namespace: int
    pid: int
    born: int | None
    lock: str
    """The lock file that the process has locked: one that was deleted and made anew is another one."""
    taken_at: float

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    def is_within_sight(self, processes: Processes) -> bool:
        """Whether this process can see if that one lives."""
        this = processes.this()
        return (self.machine, self.namespace) == (this.machine, this.namespace)

    def is_gone(self, processes: Processes) -> bool:
        """Whether the process is known to have ended."""
        return self.is_within_sight(processes) and not processes.lives(self.pid, self.born)

    def had_locked(self, lock: str, processes: Processes) -> bool:
        """Whether it is dead if this process has got that lock: within a machine a lock goes with its process."""
        return (self.machine, self.lock) == (processes.this().machine, lock)


def granted(process: Process, *, epoch: int, lock: str, taken_at: float) -> Holder:
    return Holder(epoch=epoch, nonce=uuid.uuid4().hex, **asdict(process), lock=lock, taken_at=taken_at)


def unknown(epoch: int) -> Holder:
    """A process that died, or was interrupted, before it had written itself down."""
    return Holder(
        epoch=epoch, nonce="", host="an unknown host", machine="", namespace=0, pid=0, born=None, lock="", taken_at=0.0
    )
