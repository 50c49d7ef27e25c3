"""The files of a folder: found, read once, judged, and handed over until somebody keeps them."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.errors import Problem, SurroundingsError
from freshtide.core.feeds import Feed
from freshtide.feeds.admission import Findings, Ledger, judge
from freshtide.feeds.errors import UnreachableFileError, UnreadableFileError, VanishedFileError
from freshtide.feeds.reading import Examined, Reading, is_quick, read
from freshtide.feeds.watching import FolderWatcher, SettledFile
from freshtide.world import Disk


class WatchedFolder:
    """A source of files. The position of a file is its path."""

    def __init__(
        self, feed: Feed, watcher: FolderWatcher, ledger: Ledger, *, disk: Disk, room: threading.Semaphore
    ) -> None:
        """`room` limits how many folders read long files at the same time."""
        self.feed = feed
        self._watcher = watcher
        self._ledger = ledger
        self._disk = disk
        self._room = room
        self._reading: Reading | None = None
        """Files that take long to read; the folder is looked at again once they are done."""
        self._waiting: dict[str, Examined] = {}
        """Read but not judged yet: they stay while the ledger cannot be asked."""
        self._given: dict[str, Arrival] = {}
        """Handed over, and not acknowledged yet."""
        self._fault: Problem | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        return (*self._watcher.problems, *([self._fault] if self._fault else []))

    @property
    def quiet(self) -> bool:
        """Whether no file has been seen that time alone will settle, or that is being read or handed over."""
        return self._reading is None and not self._watcher.settling and not self._given

    def stop(self) -> None:
        """Read no further file; those not handed over are seen again by the next run."""
        if self._reading is not None:
            self._reading.give_up()

    def acknowledge(self, position: str) -> None:
        self._given.pop(position, None)

    def poll(self, now: float, *, steady: float) -> list[Arrival]:
        """What has arrived, in the order it is to count as having arrived in.

        What was handed over and not acknowledged comes again, and nothing else until it is: whether a file is a
        duplicate is asked of the ledger, which has to know those before it. Punctuation comes after data of the same
        poll: it promises about what arrives after it, and data that lay there beside it must not be taken for late.
        """
        if not self._given:
            with self._told():
                self._read(now, steady)
                # The oldest of equal files is the original, the others are its duplicates.
                examined = sorted(self._waiting.values(), key=lambda pair: (_timestamp(pair[1]), pair[0].path))
                batch = _Batch(self._ledger, self.feed, examined)
                for settled, found in examined:
                    batch.add(judge(self.feed, settled, found, batch, now))
                self._waiting.clear()
                self._given = {arrival.position: arrival for arrival in batch.arrivals}
        return sorted(self._given.values(), key=arrival_order)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """One bad feed must not stop the others: its files wait, and it is reported."""
        try:
            yield
            self._fault = None
        except SurroundingsError:
            raise  # The ledger cannot be asked, which is no feed's fault: what was read waits.
        except Exception as error:
            message = f"Feed '{self.feed.name}' could not be polled: {error!r}."
            self._fault = Problem(message=message, origin=self.feed.origin)

    def _read(self, now: float, steady: float) -> None:
        """Read what has settled: at once, or on a thread of its own where that takes long."""
        if self._reading is None:
            settled = self._watcher.poll(now, steady=steady)
            if is_quick(settled):
                self._keep([read(self._disk, self.feed, file) for file in settled], steady)
                return
            self._reading = Reading(self._disk, self.feed, self._news(settled), self._room)
        if self._reading.found is not None:
            self._keep(self._reading.found, steady)
            self._reading = None

    def _keep(self, examined: list[Examined], steady: float) -> None:
        for settled, found in examined:
            if isinstance(found, VanishedFileError):
                fault = found.message if isinstance(found, UnreachableFileError) else None
                self._watcher.again(settled.path, steady, fault=fault)
            else:
                self._waiting[settled.path] = settled, found

    def _news(self, settled: list[SettledFile]) -> list[SettledFile]:
        """Without what is known just so: all files of a folder come again when its mount was away for a moment."""
        known = self._ledger.by_paths(self.feed.name, [file.path for file in settled])
        signatures = {
            path: (arrival.size, arrival.modified_ns)
            for path, arrival in known.items()
            if not arrival.waits_for_its_content
        }
        return [file for file in settled if signatures.get(file.path) != (file.size, file.modified_ns)]


class _Batch:
    """What the ledger knows of these files, and on top of it the files judged so far, which it does not have yet."""

    def __init__(self, ledger: Ledger, feed: Feed, examined: list[Examined]) -> None:
        self._known = ledger.by_paths(feed.name, [settled.path for settled, _ in examined])
        self._contents = dict(ledger.contents(feed.name, [found.sha256 for _, found in examined if found.sha256]))
        quarantined = [path for path, known in self._known.items() if known.state is ArrivalState.QUARANTINED]
        self._loaded = ledger.loaded_paths(feed.name, quarantined)
        self.arrivals: list[Arrival] = []

    def by_paths(self, _feed: str, paths: Sequence[str]) -> dict[str, Arrival]:
        return {path: self._known[path] for path in paths if path in self._known}

    def contents(self, _feed: str, hashes: Sequence[str]) -> dict[str, set[str]]:
        return {sha256: self._contents[sha256] for sha256 in hashes if sha256 in self._contents}

    def loaded_paths(self, _feed: str, paths: Sequence[str]) -> set[str]:
        return self._loaded.intersection(paths)

    def add(self, arrival: Arrival | None) -> None:
        if arrival is None:
            return
        self.arrivals.append(arrival)
        if arrival.state is ArrivalState.READY and arrival.rows:
            self._contents.setdefault(arrival.digest, set()).add(arrival.position)


def _timestamp(found: Findings | Arrival) -> float:
    timestamp = None if isinstance(found, UnreadableFileError) else found.timestamp
    return -math.inf if timestamp is None else timestamp


def arrival_order(arrival: Arrival) -> tuple[bool, float, str]:
    return arrival.state is ArrivalState.PUNCTUATION, _timestamp(arrival), arrival.position
