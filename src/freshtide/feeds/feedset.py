"""All feeds of a project at once: what a runtime thread polls."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.errors import Problem, SurroundingsError
from freshtide.core.feeds import Feed
from freshtide.feeds.admission import Findings, Ledger, judge
from freshtide.feeds.errors import UnreachableFileError, UnreadableFileError, VanishedFileError
from freshtide.feeds.inspection import check_feed
from freshtide.feeds.reading import Examined, Reading, is_quick, read
from freshtide.feeds.settling import Signature
from freshtide.feeds.watching import FolderWatcher, SettledFile
from freshtide.world import Disk, OsDisk


@dataclass(slots=True, kw_only=True)
class _Watched:
    feed: Feed
    watcher: FolderWatcher
    reading: Reading | None = None
    """Files that take long to read; the folders are looked at again once they are done."""
    waiting: dict[str, Examined] = field(default_factory=dict)
    """Read but not judged yet: they stay while the ledger cannot be asked."""
    fault: Problem | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        return (*self.watcher.problems, *([self.fault] if self.fault else []))


class FeedSet:
    """Watches feeds and admits what settles in them.

    What a poll returns must be registered in the ledger before the next poll: that is how a file is known
    to have been there. `known` has, by feed and path, the signature (size, modified_ns) of the newest
    record of any state, so that a restart does not read everything again.
    """

    def __init__(
        self,
        feeds: Iterable[Feed],
        root: Path,
        ledger: Ledger,
        *,
        known: Mapping[str, Mapping[str, Signature]] | None = None,
        sweep_interval: float = 30.0,
        disk: Disk | None = None,
    ) -> None:
        self._ledger = ledger
        self._disk = disk or OsDisk()
        self._room = threading.Semaphore(os.cpu_count() or 1)
        self._watched: list[_Watched] = []
        for feed in feeds:
            if not feed.brings_files:
                continue  # it has no folder to be watched
            check_feed(feed)
            of_feed = (known or {}).get(feed.name)
            watcher = FolderWatcher(feed, root, known=of_feed, sweep_interval=sweep_interval, disk=self._disk)
            self._watched.append(_Watched(feed=feed, watcher=watcher))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What kept feeds from being watched in the last poll."""
        return tuple(problem for watched in self._watched for problem in watched.problems)

    @property
    def faults(self) -> dict[str, tuple[str, ...]]:
        """The same in words, by feed; feeds without a problem are left out."""
        told = {watched.feed.name: tuple(p.message for p in watched.problems) for watched in self._watched}
        return {feed: messages for feed, messages in told.items() if messages}

    @property
    def settling(self) -> bool:
        """Whether files have been seen that time alone will settle, or that are being read."""
        return any(watched.reading is not None or watched.watcher.settling for watched in self._watched)

    def close(self) -> None:
        """Read no further file; those not handed out are seen again by the next set."""
        for watched in self._watched:
            if watched.reading is not None:
                watched.reading.give_up()

    def poll(self, now: float, *, steady: float | None = None) -> list[Arrival]:
        """The files of all feeds to register, in the order they are to count as having arrived in."""
        return sorted((file for found in self.poll_each(now, steady=steady) for file in found), key=_arrival_order)

    def poll_each(self, now: float, *, steady: float | None = None) -> Iterator[list[Arrival]]:
        """The files to register, feed by feed, so that the first are loaded while the last are looked at.

        What takes long to read is read on another thread and handed out by a later poll.
        Punctuation comes after data of the same poll: it promises about what arrives after it, and data
        that lay there beside it must not be taken for late. `steady` is the same moment by a clock that nobody sets.
        """
        for watched in self._watched:
            found: list[Arrival] = []
            try:
                found = self._poll_one(watched, now, now if steady is None else steady)
                watched.fault = None
            except SurroundingsError:
                raise  # The ledger cannot be asked, which is no feed's fault: what was read waits.
            except Exception as error:  # one bad feed must not stop the others: its files wait, it is reported
                watched.fault = Problem(
                    message=f"Feed '{watched.feed.name}' could not be polled: {error!r}.",
                    origin=watched.feed.origin,
                )
            if found:
                yield sorted(found, key=_arrival_order)

    def _poll_one(self, watched: _Watched, now: float, steady: float) -> list[Arrival]:
        feed = watched.feed
        for settled, found in self._read(watched, now, steady):
            if isinstance(found, VanishedFileError):
                fault = found.message if isinstance(found, UnreachableFileError) else None
                watched.watcher.again(settled.path, steady, fault=fault)
            else:
                watched.waiting[settled.path] = settled, found
        # The oldest of equal files is the original, the others are its duplicates.
        examined = sorted(watched.waiting.values(), key=lambda pair: (_timestamp(pair[1]), pair[0].path))
        batch = _Batch(self._ledger, feed, examined)
        for settled, found in examined:
            batch.add(judge(feed, settled, found, batch, now))
        watched.waiting.clear()
        return batch.files

    def _read(self, watched: _Watched, now: float, steady: float) -> list[Examined]:
        if watched.reading is None:
            settled = watched.watcher.poll(now, steady=steady)
            if is_quick(settled):
                return [read(self._disk, watched.feed, file) for file in settled]
            watched.reading = Reading(self._disk, watched.feed, self._news(watched.feed, settled), self._room)
        found = watched.reading.found
        if found is None:
            return []
        watched.reading = None
        return found

    def _news(self, feed: Feed, settled: list[SettledFile]) -> list[SettledFile]:
        """Without what is known just so: all files of a folder come again when its mount was away for a moment."""
        known = self._ledger.by_paths(feed.name, [file.path for file in settled])
        signatures = {path: (file.size, file.modified_ns) for path, file in known.items()}
        return [file for file in settled if signatures.get(file.path) != (file.size, file.modified_ns)]


class _Batch:
    """What the ledger knows of these files, and on top of it the files judged so far, which it does not have yet."""

    def __init__(self, ledger: Ledger, feed: Feed, examined: list[Examined]) -> None:
        self._known = ledger.by_paths(feed.name, [settled.path for settled, _ in examined])
        self._contents = dict(ledger.contents(feed.name, [found.sha256 for _, found in examined if found.sha256]))
        quarantined = [path for path, file in self._known.items() if file.state is ArrivalState.QUARANTINED]
        self._loaded = ledger.loaded_paths(feed.name, quarantined)
        self.files: list[Arrival] = []

    def by_paths(self, _feed: str, paths: Sequence[str]) -> dict[str, Arrival]:
        return {path: self._known[path] for path in paths if path in self._known}

    def contents(self, _feed: str, hashes: Sequence[str]) -> dict[str, set[str]]:
        return {sha256: self._contents[sha256] for sha256 in hashes if sha256 in self._contents}

    def loaded_paths(self, _feed: str, paths: Sequence[str]) -> set[str]:
        return self._loaded.intersection(paths)

    def add(self, file: Arrival | None) -> None:
        if file is None:
            return
        self.files.append(file)
        if file.state is ArrivalState.READY and file.rows:
            self._contents.setdefault(file.digest, set()).add(file.position)


def _timestamp(found: Findings | Arrival) -> float:
    timestamp = None if isinstance(found, UnreadableFileError) else found.timestamp
    return -math.inf if timestamp is None else timestamp


def _arrival_order(file: Arrival) -> tuple[bool, float, str]:
    return file.state is ArrivalState.PUNCTUATION, _timestamp(file), file.position
