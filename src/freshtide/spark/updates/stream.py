"""The rows that wait for an update table: where files and stream sources put them, and updates take them from."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freshtide.core.files import FeedFile
from freshtide.core.instants import format_instant
from freshtide.spark.updates.rows import Reject, Rows, RowShape
from freshtide.spark.updates.takenfiles import TakenFile, TakenFiles
from freshtide.updates.admission import Admission, RejectKind
from freshtide.updates.pages import MemoryLimitError
from freshtide.updates.statistics import TupleCost
from freshtide.updates.tuples import UNTAGGED, StreamTuple, TupleQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What waits for an update table."""

    residents: int
    since: float | None
    """When the oldest pending update arrived."""
    timestamp: float | None
    """The largest time stamp of what has come so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What the commit of a micro-batch settles beside the rows that it brings into the table."""

    done: tuple[TakenFile, ...]
    rejects: tuple[Reject, ...]
    read: int
    superseded: int
    timestamp: float | None

    @property
    def files(self) -> tuple[FeedFile, ...]:
        return tuple(taken.file for taken in self.done)


class UpdateStream:
    """A queue with what its rows belong to. Files come in on the thread of an update, single rows on any."""

    def __init__(
        self,
        queue: TupleQueue,
        admission: Admission,
        cost: TupleCost,
        shape: RowShape,
        room: threading.Condition,
    ) -> None:
        """`cost` is what the queue decides by, of a tuple as measured.

        `room` is notified when memory may have become free; its lock guards all queues that share the memory.
        """
        self.queue = queue
        self.cost = cost
        self._admission = admission
        self._shape = shape
        self._lock = self._room = room
        self._files = TakenFiles()
        self._overflow: deque[Rows] = deque()
        """Rows of files that have found no room in the queue yet."""
        self._held: list[StreamTuple] = []
        """Taken out by an update that failed."""
        self._taken_since: float | None = None
        self._rejects: list[Reject] = []
        """Of stream sources."""
        self._read = self._superseded = 0
        self._now = 0.0
        self._timestamp: float | None = None

    @property
    def is_full(self) -> bool:
        """Whether rows of files have found no room: then it is no use to read further ones."""
        return bool(self._overflow)

    @property
    def pending(self) -> Pending:
        with self._lock:
            moments = (self._taken_since, self.queue.oldest_pending())
            return Pending(
                residents=len(self.queue) + len(self._held) + sum(map(len, self._overflow)),
                since=min((at for at in moments if at is not None), default=None),
                timestamp=self._timestamp,
            )

    @property
    def is_quiet(self) -> bool:
        """Whether an update would find nothing to do."""
        with self._lock:
            return not (self.pending.residents or self._rejects or self._files.done_after(()))

    def has_taken(self, file_id: int) -> bool:
        return file_id in self._files

    def take_in(self, rows: Rows, unfit: Sequence[Reject]) -> None:
        """Enqueue the rows of a file; `unfit` are those of it that could not be parsed."""
        with self._lock:
            self._read += len(rows) + len(unfit)
            self._seen(rows.file.timestamp)
            good: list[int] = []
            rejects = list(unfit)
            for place, (key, time) in enumerate(zip(rows.keys, rows.times, strict=True)):
                fault = self._fault(key, time)
                if fault is None:
                    good.append(place)
                else:
                    content = self._shape.written(key, [column[place] for column in rows.columns])
                    rejects.append(Reject(file=rows.file.path, content=content, reason=fault))
            self._files.add(rows.file, waiting=len(good), rejects=rejects)
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
            dropped = self.queue.enqueue_many(rows.keys, rows.times, rows.columns, at, tag)
        except MemoryLimitError as full:
            self._files.release(full.dropped)
            self._overflow[0] = rows.only(range(full.taken, len(rows)))
            return False
        self._files.release(dropped)
        return True

    def offer(self, row: Sequence[Any], *, time: float, content: str, source: str, at: float) -> bool:
        """Enqueue a single row, once there is room for it; whether nothing had waited before."""
        with self._lock:
            was_quiet = self.is_quiet
            self._read += 1
            key = self._shape.key_of(row)
            fault = self._fault(key, time)
            if fault is not None:
                self._rejects.append(Reject(file=source, content=content, reason=fault))
                return was_quiet
            self._seen(time)
            item = StreamTuple(time, key, self._shape.values_of(row))
            while True:
                try:
                    self._files.release(self.queue.enqueue(item, self._at(at)))
                    return was_quiet
                except MemoryLimitError:
                    self._room.wait()

    def reject(self, reject: Reject) -> bool:
        """Keep aside what is no row; whether nothing had waited before."""
        with self._lock:
            was_quiet = self.is_quiet
            self._read += 1
            self._rejects.append(reject)
            return was_quiet

    def take(self, count: int, now: float) -> list[StreamTuple]:
        """A micro-batch: the rows that are served next."""
        with self._lock:
            self._taken_since = self.pending.since
            held, self._held = self._held, []
            batch = [*held, *self.queue.dequeue_many(max(0, count - len(held)), self._at(now))]
            self._room.notify_all()
            return batch

    def give_back(self, batch: list[StreamTuple]) -> None:
        """The update has failed: the next one takes the batch up again. What is newer by then wins in the table."""
        with self._lock:
            self._held = batch

    def settlement(self, batch: Sequence[StreamTuple]) -> Settlement:
        """What a commit of the batch can settle."""
        with self._lock:
            done = self._files.done_after(_tags(batch))
            of_files = (reject for taken in done for reject in taken.rejects)
            return Settlement(
                done=tuple(done),
                rejects=(*of_files, *self._rejects),
                read=self._read,
                superseded=self.queue.counts.superseded - self._superseded,
                timestamp=self._timestamp,
            )

    def settle(self, settled: Settlement, batch: Sequence[StreamTuple]) -> None:
        """The commit has landed."""
        with self._lock:
            self._taken_since = None
            self._files.release(_tags(batch))
            self._files.forget(settled.done)
            of_files = sum(len(taken.rejects) for taken in settled.done)
            del self._rejects[: len(settled.rejects) - of_files]
            self._read -= settled.read
            self._superseded += settled.superseded
            self.make_room()

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


def _tags(batch: Sequence[StreamTuple]) -> list[int]:
    return [item.tag for item in batch if item.tag != UNTAGGED]
