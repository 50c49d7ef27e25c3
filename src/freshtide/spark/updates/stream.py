"""The rows that wait for an update table: where files and stream sources put them, and updates take them from."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from freshtide.core.files import FeedFile
from freshtide.core.instants import format_instant
from freshtide.spark.updates.rows import Reject, Rows, RowShape
from freshtide.spark.updates.takenfiles import TakenFile, TakenFiles
from freshtide.spark.updates.waiting import MicroBatch, Waiting
from freshtide.updates.admission import Admission, RejectKind
from freshtide.updates.pages import MemoryLimitError
from freshtide.updates.statistics import TupleCost
from freshtide.updates.tuples import StreamTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What waits for an update table."""

    residents: int
    since: float | None
    """When the oldest pending update arrived."""
    timestamp: float | None
    """The largest time stamp of what has come so far."""
    taken_in: int | None
    """The newest file that has been taken in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What the commit of a micro-batch settles beside the rows that it brings into the table."""

    done: tuple[TakenFile, ...]
    rejects: tuple[Reject, ...]
    single_rows: int
    """Of stream sources."""
    superseded: int
    timestamp: float | None

    @property
    def read(self) -> int:
        """All rows of the files that are done with, and the single ones: each is counted once, even after a crash."""
        return self.single_rows + sum(taken.rows for taken in self.done)

    @property
    def files(self) -> tuple[FeedFile, ...]:
        return tuple(taken.file for taken in self.done)


class UpdateStream:
    """A queue with what its rows belong to. Files come in on the thread of an update, single rows on any."""

    def __init__(
        self,
        waiting: Waiting,
        admission: Admission,
        cost: TupleCost,
        shape: RowShape,
        room: threading.Condition,
    ) -> None:
        """`cost` is what the queue decides by, of a tuple as measured.

        `room` is notified when memory may have become free; its lock guards all queues that share the memory.
        """
        self.waiting = waiting
        self._queue = waiting.queue
        self.cost = cost
        self._admission = admission
        self._shape = shape
        self._lock = self._room = room
        self._files = TakenFiles()
        self._overflow: deque[Rows] = deque()
        """Rows of files that have found no room in the queue yet."""
        self._held = MicroBatch()
        """Taken out by an update that failed."""
        self._is_busy = False
        """Whether an update is under way."""
        self._is_open = True
        self._taken_since: float | None = None
        self._rejects: list[Reject] = []
        """Of stream sources."""
        self._single_rows = self._superseded = 0
        self._now = 0.0
        self._timestamp: float | None = None
        self._newest_file: int | None = None

    @property
    def is_full(self) -> bool:
        """Whether rows of files have found no room: then it is no use to read further ones."""
        return bool(self._overflow)

    @property
    def pending(self) -> Pending:
        with self._lock:
            moments = (self._taken_since, self.waiting.since)
            return Pending(
                residents=self.waiting.keys + self._held.keys + sum(map(len, self._overflow)),
                since=min((at for at in moments if at is not None), default=None),
                timestamp=self._timestamp,
                taken_in=self._newest_file,
            )

    @property
    def is_quiet(self) -> bool:
        """Whether an update would find nothing to do."""
        with self._lock:
            return not (self.pending.residents or self._rejects or self._files.done_after(()))

    def resume_after(self, key: Any, start: float) -> None:
        """The window of a key that begins here was served in an earlier run."""
        with self._lock:
            self.waiting.resume_after(key, start)

    def has_taken(self, file_id: int) -> bool:
        return file_id in self._files

    def take_in(self, rows: Rows, unfit: Sequence[Reject]) -> None:
        """Enqueue the rows of a file; `unfit` are those of it that could not be parsed."""
        with self._lock:
            self._seen(rows.file.timestamp)
            self._newest_file = max(rows.file.id, self._newest_file or rows.file.id)
            good: list[int] = []
            rejects = list(unfit)
            for place, (key, time) in enumerate(zip(rows.keys, rows.times, strict=True)):
                fault = self._fault(key, time)
                if fault is None:
                    good.append(place)
                else:
                    content = self._shape.written(key, [column[place] for column in rows.columns])
                    rejects.append(Reject(file=rows.file.path, content=content, reason=fault))
            found = len(rows) + len(unfit)
            self._files.add(TakenFile(file=rows.file, rows=found, waiting=len(good), rejects=rejects))
            self._overflow.append(rows if len(good) == len(rows) else rows.only(good))
            self.make_room()

    def make_room(self) -> None:
        """Enqueue the rows of files that wait outside, as far as there is room for them."""
        with self._lock:
            while self._overflow and self._enqueue(self._overflow[0]):
                self._overflow.popleft()

    def _enqueue(self, rows: Rows) -> bool:
        """Enqueue the rows of a file; whether all of them have found room."""
        at, tag = self._at(rows.file.arrived_at), rows.file.id
        try:
            dropped = self._queue.enqueue_many(rows.keys, rows.times, rows.columns, at, tag)
        except MemoryLimitError as full:
            self._files.release(full.dropped)
            self._overflow[0] = rows.only(range(full.taken, len(rows)))
            return False
        self._files.release(dropped)
        return True

    def open(self) -> None:
        """Take single rows from now on."""
        with self._lock:
            self._is_open = True

    def close(self) -> None:
        """Take no more single rows: whoever waits for room is let go."""
        with self._lock:
            self._is_open = False
            self._room.notify_all()

    def offer(
        self,
        rows: Iterable[tuple[float, Sequence[Any], str]],
        *,
        source: str,
        at: float,
        announce: Callable[[], None],
    ) -> None:
        """Enqueue single rows as soon as there is room: their times, their values and what they were read from.

        `announce` tells that there is something to do, if there was nothing before.
        """
        with self._lock:
            was_quiet = self.is_quiet
            for time, row, content in rows:
                self._single_rows += 1
                key = self._shape.key_of(row)
                fault = self._fault(key, time)
                if fault is not None:
                    self._rejects.append(Reject(file=source, content=content, reason=fault))
                    continue
                self._seen(time)
                item = StreamTuple(time, key, self._shape.values_of(row))
                while self._is_open and not self._enqueue_one(item, at):
                    if was_quiet:
                        announce()
                    self._room.wait()
                    was_quiet = self.is_quiet
            self.rest()
            if was_quiet and not self.is_quiet:
                announce()

    def rest(self) -> None:
        """All that has come is in the queue. If no update is under way, there is nothing else to do for now."""
        with self._lock:
            if not self._is_busy:
                self.waiting.settle()

    def _enqueue_one(self, item: StreamTuple, at: float) -> bool:
        """Enqueue a single row; whether it has found room."""
        try:
            self._files.release(self._queue.enqueue(item, self._at(at)))
        except MemoryLimitError:
            return False
        return True

    def reject(self, rejected: Sequence[tuple[str, str]], *, source: str, announce: Callable[[], None]) -> None:
        """Keep aside what is no row, by content and reason."""
        with self._lock:
            was_quiet = self.is_quiet
            self._single_rows += len(rejected)
            self._rejects += [Reject(file=source, content=content, reason=reason) for content, reason in rejected]
            if was_quiet:
                announce()

    def take(self, count: int, now: float) -> MicroBatch:
        """The keys that are served next."""
        with self._lock:
            self._is_busy = True
            self._taken_since = self.pending.since
            held, self._held = self._held, MicroBatch()
            batch = held.and_also(self.waiting.take(max(0, count - held.keys), self._at(now)))
            self._room.notify_all()
            return batch

    def give_back(self, batch: MicroBatch) -> None:
        """The update has failed: the next one takes the batch up again. What is newer by then wins in the table."""
        with self._lock:
            self._is_busy = False
            self._held = batch

    def settlement(self, batch: MicroBatch) -> Settlement:
        """What a commit of the batch can settle."""
        with self._lock:
            done = self._files.done_after(batch.released)
            of_files = (reject for taken in done for reject in taken.rejects)
            return Settlement(
                done=tuple(done),
                rejects=(*of_files, *self._rejects),
                single_rows=self._single_rows,
                superseded=self._queue.counts.superseded - self._superseded,
                timestamp=self._timestamp,
            )

    def settle(self, settled: Settlement, batch: MicroBatch) -> None:
        """The commit has landed."""
        with self._lock:
            self._is_busy = False
            self._taken_since = None
            self._files.release(batch.released)
            self._files.forget(settled.done)
            of_files = sum(len(taken.rejects) for taken in settled.done)
            del self._rejects[: len(settled.rejects) - of_files]
            self._single_rows -= settled.single_rows
            self._superseded += settled.superseded
            self.make_room()
            self.waiting.settle()

    def _fault(self, key: Any, time: float) -> str | None:
        """What is wrong with a row, in words."""
        rejection = self._admission.admit(time, key)
        if rejection is not None and rejection.kind is RejectKind.BACKWARDS:
            newest = self._admission.newest(key) or time
            return f"its time {format_instant(time)} is before {format_instant(newest)}, the newest of its key"
        return None if rejection is None else rejection.reason

    def _seen(self, timestamp: float | None) -> None:
        if timestamp is not None and (self._timestamp is None or timestamp > self._timestamp):
            self._timestamp = timestamp

    def _at(self, moment: float) -> float:
        """Files do not come in quite in the order of their arrival; for the queue time does not go backwards."""
        self._now = max(self._now, moment)
        return self._now
