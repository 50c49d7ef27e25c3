"""The lease as its holder has it: taken, kept alive by heartbeats, lost or released."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType

from freshtide.catalog.leases.folder import FolderSeat
from freshtide.catalog.leases.holders import Holder, granted
from freshtide.catalog.leases.seats import Seat, Standing
from freshtide.core.durations import format_duration
from freshtide.core.errors import FreshtideError, LeaseLostError
from freshtide.world import (
    Clock,
    Disk,
    FileLock,
    Processes,
    ProcessLock,
    SystemClock,
    SystemProcesses,
    SystemThreads,
    Task,
    Threads,
)

# Without a heartbeat for this long a holder that cannot be seen counts as dead.
LENGTH = 15.0
BEATS = 8
# Who waits for a heartbeat looks so often for each.
_LOOKS = 2


class WarehouseBusyError(FreshtideError):
    """Another process is running the warehouse."""

    def __init__(self, found: Standing | None) -> None:
        # Whoever is just starting has not written itself down yet.
        holder = "another process" if found is None or found.released else found.holder
        super().__init__(
            f"This warehouse is being run already, by {holder}.",
            way_out="Stop that run first (Ctrl-C in its terminal), or look on with `freshtide status`.",
        )


class RunLease:
    """The right to write into a storage and its catalog, for as long as the block lasts."""

    def __init__(
        self,
        folder: Path,
        catalog: Seat,
        *,
        length: float = LENGTH,
        clock: Clock | None = None,
        threads: Threads | None = None,
        disk: Disk | None = None,
        lock: Callable[[Path], ProcessLock] = FileLock,
        processes: Processes | None = None,
        tell: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        """`folder` is the one beside the tables, `catalog` the catalog's seat; `tell` hears why it takes long."""
        self._lock = lock(folder / "run.lock")
        self._processes = processes or SystemProcesses()
        self._folder = FolderSeat(folder, disk)
        self._seats: tuple[Seat, ...] = (self._folder, catalog)
        self._length = length
        self._tell = tell
        self._clock = clock or SystemClock()
        self._holder: Holder | None = None
        self._lost = False
        self._threads = threads or SystemThreads()
        self._stop = self._threads.flag()
        self._heartbeats: list[Task] = []

    @property
    def epoch(self) -> int:
        assert self._holder is not None, "a lease has no epoch before it is taken"
        return self._holder.epoch

    def require(self) -> None:
        """Return if this process still holds the lease, else raise LeaseLostError."""
        if self._lost or self._holder is None or not self._folder.is_held(self._holder):
            self._lost = True
            raise self._loss()

    @property
    def must_fence(self) -> bool:
        """Whether the tables have to be fenced: a former holder may wake up and go on writing."""
        return self._folder.must_be_fenced

    def fenced(self) -> None:
        """Every table that there is has been fenced."""
        self._folder.fenced()

    def __enter__(self) -> RunLease:
        if not self._lock.acquire():
            raise WarehouseBusyError(self._folder.read())
        try:
            self._take()
        except BaseException:
            self._lock.release()
            raise
        for seat in self._seats:
            self._heartbeats.append(self._threads.spawn(partial(self._keep, seat), name="lease"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._holder is not None
        self._stop.set()
        for heartbeat in self._heartbeats:
            heartbeat.join()
        try:
            self._release(self._seats, self._holder)
        finally:
            self._lost = True
            self._lock.release()

    def _take(self) -> None:
        found = {seat: seat.read() for seat in self._seats}
        doubtful = {
            seat: standing
            for seat, standing in found.items()
            if standing is not None and not standing.released and not self._is_dead(standing.holder)
        }
        if doubtful:
            self._outwait(doubtful)
            self._folder.doubt()
        last = max((standing.holder.epoch for standing in found.values() if standing is not None), default=0)
        now = self._clock.now()
        # Whoever starts at the same time wants the same one, and one of them gets it. Tables remember the epochs of
        # their commits: where both seats were thrown away, the time goes on from there.
        epoch = last + 1 if last else int(now)
        holder = granted(self._processes.this(), epoch=epoch, lock=self._lock.identity, taken_at=now)
        taken: list[Seat] = []
        try:
            for seat, standing in found.items():
                if not seat.take(holder, standing):
                    raise WarehouseBusyError(seat.read())
                taken.append(seat)
        except BaseException:
            self._release(taken, holder)
            raise
        self._holder = holder

    def _release(self, seats: Sequence[Seat], holder: Holder) -> None:
        for seat in seats:
            # If it cannot be written down that this is over, the next one finds that the process has ended.
            with suppress(FreshtideError, OSError):
                seat.release(holder)

    def _is_dead(self, holder: Holder) -> bool:
        return holder.is_gone(self._processes) or holder.had_locked(self._lock.identity, self._processes)

    def _outwait(self, doubtful: dict[Seat, Standing]) -> None:
        """Watch for heartbeats as long as the lease lasts. No clock but this process's own takes part."""
        last = next(iter(doubtful.values())).holder
        wait = format_duration(self._length)
        self._tell(f"{last} may still run this warehouse: the start waits {wait} for a sign of life of it.")
        until = self._clock.steady() + self._length
        while self._clock.steady() < until:
            self._threads.sleep(self._length / BEATS / _LOOKS)
            for seat, before in doubtful.items():
                found = seat.read()
                if found is not None and found != before and not found.released:
                    raise WarehouseBusyError(found)

    def _keep(self, seat: Seat) -> None:
        """Beat until the end. While a disk or a database is away nobody else can take the lease there either."""
        assert self._holder is not None
        while not self._stop.wait(self._length / BEATS):
            try:
                held = seat.beat(self._holder)
            except LeaseLostError:
                held = False
            except (OSError, FreshtideError):
                continue
            if not held:
                self._lost = True
                return

    def _loss(self) -> LeaseLostError:
        found = self._folder.read()
        if self._holder is None or found is None or found.holder == self._holder:
            told = "This process does not hold the lease on the storage any more"
        else:
            told = f"This warehouse is run by {found.holder} now"
        return LeaseLostError(
            f"{told}: nothing more is written by this run.",
            way_out="All that it has committed is kept, and what it has not is loaded by the other run.",
        )
