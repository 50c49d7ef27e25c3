"""The rows that wait for an update table: where files and stream sources put them, and updates take them from."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from freshtide.core.arrivals import Arrival
from freshtide.latest import Admission, MemoryLimitError, StreamTuple, TupleCost
from freshtide.latest.windows import KeyStanding
from freshtide.spark.latest.fates import ByTag, Fates
from freshtide.spark.latest.openwindows import WaitingForWindows
from freshtide.spark.latest.rows import AHEAD, LEFT_BEHIND, Reject, Rows, RowShape
from freshtide.spark.latest.settlements import Pending, Remainder, Settlement
from freshtide.spark.latest.singles import SingleRejects
from freshtide.spark.latest.takenfiles import TakenFile, TakenFiles
from freshtide.spark.latest.waiting import MicroBatch, Waiting


class LatestStream:
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
        """Rows that came together and have found no room in the queue yet."""
        self._unplaced: list[StreamTuple] = []
        """Single rows that had found none when no more were taken."""
        self._held = MicroBatch()
        """Taken out by an update that failed."""
        self._is_busy = False
        """Whether an update is under way."""
        self._is_open = True
        self._taken_since: float | None = None
        self._rejects = SingleRejects()
        self._single_rows = 0
        self._was_put_down = False
        """Whether how keys stand was ever put down: a first time is worth it in any case, to count from."""
        self._waited = 0
        """So many rows waited for their first window then."""
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
            return not (self.pending.residents or self._rejects or self._done_after(()))

    def resume_after(self, key: Any, start: float) -> None:
        """The window of a key that begins here was served in an earlier run."""
        with self._lock:
            self.waiting.resume_after(key, start)

    def has_taken(self, file_id: int) -> bool:
        return file_id in self._files

    @property
    def unfinished(self) -> list[Arrival]:
        """The files that have been taken in and are not done with: rows of theirs may be in the table."""
        with self._lock:
            return [taken.file for taken in self._files if taken.file is not None]

    def take_in(self, rows: Rows, unfit: Sequence[Reject], *, uncounted: int | None = None, served: int = 0) -> None:
        """Enqueue rows that came together; `unfit` are those that could not be parsed.

        All of them are still to be counted by a commit, unless so many are said to be. Some may have been `served` in
        windows, and counted, and wait for others now.
        """
        with self._lock:
            if rows.file is not None:
                self._seen(rows.file.timestamp)
                self._newest_file = max(rows.file.id, self._newest_file or rows.file.id)
            good: list[int] = []
            rejects = list(unfit)
            for place, (key, time) in enumerate(zip(rows.keys, rows.times, strict=True)):
                rejection = self._admission.admit(time, key)
                if rejection is None:
                    good.append(place)
                else:
                    content = self._shape.written(key, [column[place] for column in rows.columns])
                    rejects.append(Reject(file=rows.source, content=content, reason=rejection.reason))
            found = len(rows) + len(unfit) if uncounted is None else uncounted
            taken = TakenFile(file=rows.file, rows=found, waiting=len(good), rejects=rejects, has_rows=bool(good))
            taken.fates -= Fates(came_in=served)
            self._files.add(taken)
            self._overflow.append(rows if len(good) == len(rows) else rows.only(good))
            self.make_room()

    def make_room(self) -> None:
        """Enqueue the rows of files that wait outside, as far as there is room for them."""
        with self._lock:
            while self._overflow and self._enqueue(self._overflow[0]):
                self._overflow.popleft()

    def _enqueue(self, rows: Rows) -> bool:
        """Enqueue rows that came together; whether all of them have found room."""
        at = self._at(rows.arrived_at)
        try:
            dropped = self._queue.enqueue_many(rows.keys, rows.times, rows.columns, at, rows.tag)
        except MemoryLimitError as full:
            self._drop(full.dropped)
            self._overflow[0] = rows.only(range(full.taken, len(rows)))
            return False
        self._drop(dropped)
        self._files.enqueued(rows.tag)
        return True

    def _drop(self, tags: Sequence[int]) -> None:
        """Tuples with these tags have made way for others."""
        self._files.release(tags)
        self.waiting.dropped(tags)

    def restore(self, standings: Iterable[KeyStanding], outside: MicroBatch, now: float, *, waited: int) -> None:
        """Go on with windows as they stood when so many rows `waited`, and those taken out and not processed."""
        with self._lock:
            self._was_put_down, self._waited = True, waited
            for standing in standings:
                self.waiting.restore(standing, self._at(now))
            self._held = outside

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
                rejection = self._admission.admit(time, key)
                if rejection is not None:
                    self._rejects.add(Reject(file=source, content=content, reason=rejection.reason))
                    continue
                self._seen(time)
                item = StreamTuple(time, key, self._shape.values_of(row))
                while not self._place(item, at):
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

    def _place(self, item: StreamTuple, at: float) -> bool:
        """Enqueue a single row; whether it has found room. Once no more rows are taken it is kept in any case."""
        try:
            if not self._unplaced:
                self._drop(self._queue.enqueue(item, self._at(at)))
                return True
        except MemoryLimitError:
            if self._is_open:
                return False
        self._unplaced.append(item)
        return True

    def reject(self, rejected: Sequence[tuple[str, str]], *, source: str, announce: Callable[[], None]) -> None:
        """Keep aside what is no row, by content and reason, as soon as there is room for it."""
        with self._lock:
            for content, reason in rejected:
                was_quiet = self.is_quiet
                while self._rejects.is_full and self._is_open:
                    self._room.wait()
                    was_quiet = self.is_quiet
                self._single_rows += 1
                self._rejects.add(Reject(file=source, content=content, reason=reason))
                if was_quiet:
                    announce()

    def take(self, count: int, now: float) -> MicroBatch:
        """The keys that are served next."""
        with self._lock:
            self._is_busy = True
            self._taken_since = self.pending.since
            held, self._held = self._held, MicroBatch()
            batch = self.waiting.take(max(0, count - held.keys), self._at(now), held)
            self._room.notify_all()
            return batch

    def give_back(self, batch: MicroBatch) -> None:
        """The update has failed: the next one takes the batch up again, and what is newer by then supersedes it."""
        with self._lock:
            self._is_busy = False
            self._held = batch

    def settlement(self, batch: MicroBatch) -> Settlement:
        """What a commit of the batch can settle."""
        with self._lock:
            done = self._done_after(batch.released)
            has_rows = any(taken.has_rows for taken in done)
            of_files = (reject for taken in done for reject in taken.rejects)
            self._files.note(self.waiting.fates())
            put_down = self._put_down(done) if self.waiting.can_be_put_down and has_rows else None
            counts_others = put_down is not None or not self.waiting.is_counted_when_put_down
            return Settlement(
                done=tuple(done),
                rejects=(*of_files, *self._rejects),
                single_rows=self._single_rows,
                of_others=self._files.of_others if counts_others else Fates(),
                timestamp=self._timestamp,
                put_down=put_down,
                waited=self._waited,
            )

    def _put_down(self, done: Sequence[TakenFile]) -> WaitingForWindows:
        """What waits for windows, when these files are done with."""
        ahead = {taken.tag for taken in self._files} - {taken.tag for taken in done}
        return WaitingForWindows(standings=self.waiting.standings(), ahead=frozenset([AHEAD, *ahead]))

    def _done_after(self, released: Sequence[int]) -> list[TakenFile]:
        """The files that a commit is done with, if tuples with these tags leave with it."""
        if not self.waiting.can_be_put_down:
            return self._files.done_after(released)
        enqueued = self._files.done_when_put_down()
        worth_it = self.waiting.is_worth_putting_down(sum(taken.rows for taken in enqueued))
        return enqueued if worth_it or not self._was_put_down else self._files.without_rows()

    def settle(self, settled: Settlement, batch: MicroBatch, fates: ByTag) -> None:
        """The commit has landed; `fates` are those of the batch."""
        with self._lock:
            self._is_busy = False
            self._taken_since = None
            self._files.release(batch.released)
            self._files.forget(settled.done)
            self._files.of_others -= settled.of_others
            # Those of other rows are counted.
            self._files.note({tag: fate for tag, fate in fates.items() if tag in self._files})
            of_files = sum(len(taken.rejects) for taken in settled.done)
            self._rejects.forget(len(settled.rejects) - of_files)
            self._single_rows -= settled.single_rows
            if settled.put_down is not None:
                self._was_put_down, self._waited = True, settled.put_down.waiting
            self.make_room()
            self.waiting.settle()
            self._room.notify_all()

    def remainder(self, now: float) -> Remainder:
        """All that waits, taken out: this stream is not used any more."""
        with self._lock:
            since, past = self.pending.since, self._files.of(LEFT_BEHIND)
            outside = [item for rows in self._overflow for item in rows.tuples()]
            held = self._held if not self._held.windows else MicroBatch()
            tuples = [*held.tuples, *self.waiting.drain(self._at(now)), *outside, *self._unplaced]
            return Remainder(
                # Of equal times the last one counts: those that came first stay first.
                tuples=sorted(tuples, key=lambda item: item.time),
                standings=self.waiting.standings(),
                outside=list(zip(self._held.tuples, self._held.windows, strict=False)),
                rejects=[*(past.rejects if past else ()), *self._rejects],
                uncounted=self._single_rows + (past.rows if past else 0),
                since=now if since is None else since,
            )

    def _seen(self, timestamp: float | None) -> None:
        if timestamp is not None and (self._timestamp is None or timestamp > self._timestamp):
            self._timestamp = timestamp

    def _at(self, moment: float) -> float:
        """Files do not come in quite in the order of their arrival; for the queue time does not go backwards."""
        self._now = max(self._now, moment)
        return self._now
