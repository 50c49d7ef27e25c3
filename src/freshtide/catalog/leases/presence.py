"""Whether a warehouse is being run, for those who only look: they take nothing that a start would have to wait for."""

from __future__ import annotations

from pathlib import Path

from freshtide.catalog.leases.folder import FolderSeat
from freshtide.catalog.leases.holders import Holder
from freshtide.catalog.leases.lease import LENGTH, WarehouseBusyError
from freshtide.catalog.leases.seats import Standing
from freshtide.world import Disk, Processes, SystemClock, SystemProcesses


class RunLock:
    """The lease on a storage, seen from outside."""

    def __init__(self, folder: Path, disk: Disk | None = None, processes: Processes | None = None) -> None:
        """The folder beside the tables in which the lease is kept."""
        self._seat = FolderSeat(folder, disk)
        self._processes = processes or SystemProcesses()

    def holder(self) -> Holder | None:
        """Who runs the warehouse, if somebody does."""
        found = self._held()
        return None if found is None else found.holder

    def taken_at(self) -> float | None:
        """When the last run began, be it over or not."""
        found = self._seat.read()
        return None if found is None else found.holder.taken_at

    def died(self) -> Standing | None:
        """The last run, if it has ended without a word; its last heartbeat tells when it was still there."""
        found = self._seat.read()
        return None if found is None or found.released or self._held() is not None else found

    def require_free(self) -> None:
        """Raise if another process runs the warehouse: a quick look before anything costly is started."""
        found = self._held()
        # One that is there and gives no sign may hang: whoever takes the lease waits for a sign, and decides.
        if found is not None and _beats(found):
            raise WarehouseBusyError(found)

    def _held(self) -> Standing | None:
        found = self._seat.read()
        if found is None or found.released or found.holder.is_gone(self._processes):
            return None
        return found if found.holder.is_within_sight(self._processes) or _beats(found) else None


def _beats(found: Standing) -> bool:
    """Whether a heartbeat is recent, as far as this machine's clock can tell. A start looks more closely."""
    return SystemClock().now() - found.seen_at < LENGTH
