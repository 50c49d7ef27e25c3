"""All feeds of a project at once: what a runtime thread polls."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from freshtide.core.errors import Problem
from freshtide.core.files import FeedFile, FileState
from freshtide.core.tables import Feed
from freshtide.feeds.admission import Findings, Ledger, examine, judge
from freshtide.feeds.disk import Disk
from freshtide.feeds.errors import UnreadableFileError
from freshtide.feeds.inspection import check_feed
from freshtide.feeds.settling import Signature
from freshtide.feeds.watching import FolderWatcher, SettledFile


@dataclass(slots=True, kw_only=True)
class _Watched:
    feed: Feed
    watcher: FolderWatcher
    waiting: dict[str, tuple[SettledFile, Findings]] = field(default_factory=dict)
    """Read but not judged yet: they stay while the ledger cannot be asked."""
    fault: Problem | None = None


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
        self._watched: list[_Watched] = []
        for feed in feeds:
            check_feed(feed)
            of_feed = (known or {}).get(feed.name)
            watcher = FolderWatcher(feed, root, known=of_feed, sweep_interval=sweep_interval, disk=disk)
            self._watched.append(_Watched(feed=feed, watcher=watcher))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What kept feeds from being watched in the last poll."""
        return tuple(
            problem
            for watched in self._watched
            for problem in (*watched.watcher.problems, *([watched.fault] if watched.fault else []))
        )

    @property
    def settling(self) -> bool:
        """Whether files have been seen that time alone will settle."""
        return any(watched.watcher.settling for watched in self._watched)

    def poll(self, now: float) -> list[FeedFile]:
        """The files of all feeds to register, in the order they are to count as having arrived in."""
        return sorted((file for found in self.poll_each(now) for file in found), key=_arrival_order)

    def poll_each(self, now: float) -> Iterator[list[FeedFile]]:
        """The files to register, feed by feed, so that the first are loaded while the last are looked at.

        Punctuation comes after data of the same poll: it promises about what arrives after it, and data
        that lay there beside it must not be taken for late.
        """
        for watched in self._watched:
            found: list[FeedFile] = []
            try:
                found = _poll_one(watched, self._ledger, now)
                watched.fault = None
            except Exception as error:  # one bad feed must not stop the others: its files wait, it is reported
                watched.fault = Problem(
                    message=f"Feed '{watched.feed.name}' could not be polled: {error!r}.",
                    origin=watched.feed.origin,
                )
            if found:
                yield sorted(found, key=_arrival_order)


def _poll_one(watched: _Watched, ledger: Ledger, now: float) -> list[FeedFile]:
    feed = watched.feed
    for settled in watched.watcher.poll(now):
        watched.waiting[settled.path] = settled, _examine(feed, settled)
    batch = _Batch(ledger)
    # The oldest of equal files is the original, the others are its duplicates.
    for settled, found in sorted(watched.waiting.values(), key=lambda pair: (_timestamp(pair[1]), pair[0].path)):
        batch.add(judge(feed, settled, found, batch, now))
    watched.waiting.clear()
    return batch.files


def _examine(feed: Feed, settled: SettledFile) -> Findings:
    try:
        return examine(feed, settled)
    except Exception as error:  # a file that trips the inspection itself is kept aside, not tried for ever
        return UnreadableFileError(f"The file could not be inspected: {error!r}.")


class _Batch:
    """The ledger, and on top of it the files of this poll, which it does not have yet."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._contents: set[str] = set()
        self.files: list[FeedFile] = []

    def by_path(self, feed: str, path: str) -> FeedFile | None:
        return self._ledger.by_path(feed, path)

    def has_content(self, feed: str, sha256: str) -> bool:
        return sha256 in self._contents or self._ledger.has_content(feed, sha256)

    def add(self, file: FeedFile | None) -> None:
        if file is None:
            return
        self.files.append(file)
        if file.state is FileState.READY and file.rows:
            self._contents.add(file.sha256)


def _timestamp(found: Findings | FeedFile) -> float:
    timestamp = None if isinstance(found, UnreadableFileError) else found.timestamp
    return -math.inf if timestamp is None else timestamp


def _arrival_order(file: FeedFile) -> tuple[bool, float, str]:
    return file.state is FileState.PUNCTUATION, _timestamp(file), file.path
