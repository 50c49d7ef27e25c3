"""Feeds, files and a ledger for the tests of this folder, written once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.feeds import Column, Feed
from freshtide.feeds import FeedSet, SettledFile
from freshtide.world import OsDisk, StrPath
from tests.feedsettings import feed_of

LONG_AGO = 1_700_000_000.0
NOW = LONG_AGO + 1_000.0
COLUMNS = ("time", "host", "load")


def make_feed(**changes: Any) -> Feed:
    settings: dict[str, Any] = {
        "name": "cpu",
        "path": "landing",
        "schema": tuple(Column(name=name, type="string") for name in COLUMNS),
        "time_column": "time",
        # The moments of these tests are made up.
        "future_limit": None,
    }
    return feed_of(settings | changes)


def put(path: Path, content: str | bytes = "time,host,load\n", at: float = LONG_AGO) -> Path:
    """Write a file that was modified at a given moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return aged(path, at)


def aged(path: Path, at: float = LONG_AGO) -> Path:
    os.utime(path, ns=(round(at * 1e9), round(at * 1e9)))
    return path


def settled(path: Path, *, is_punctuation: bool = False) -> SettledFile:
    seen = path.stat()
    return SettledFile(path=str(path), size=seen.st_size, modified_ns=seen.st_mtime_ns, is_punctuation=is_punctuation)


class CountingDisk(OsDisk):
    """A disk that counts what it is asked."""

    def __init__(self) -> None:
        self.listings = 0
        self.looks = 0

    def names(self, folder: StrPath) -> list[str]:
        self.listings += 1
        return super().names(folder)

    def look(self, path: StrPath) -> os.stat_result:
        self.looks += 1
        return super().look(path)


class MemoryLedger:
    """A ledger that forgets when the process ends."""

    def __init__(self, files: Iterable[Arrival] = ()) -> None:
        self.files = list(files)
        self.loaded: set[str] = set()
        """Paths that some table has loaded."""

    def register(self, files: Iterable[Arrival]) -> None:
        self.files.extend(files)

    def by_paths(self, feed: str, paths: Sequence[str]) -> dict[str, Arrival]:
        return {
            file.position: file
            for file in self.files
            if file.feed == feed and file.position in paths and file.state is not ArrivalState.REFUSED
        }

    def contents(self, feed: str, hashes: Sequence[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for file in self.files:
            if file.feed == feed and file.digest in hashes and file.state is ArrivalState.READY and file.rows:
                found.setdefault(file.digest, set()).add(file.position)
        return found

    def loaded_paths(self, feed: str, paths: Sequence[str]) -> set[str]:
        return {file.position for file in self.files if file.feed == feed} & self.loaded & set(paths)


def polled(feeds: FeedSet, ledger: MemoryLedger, now: float = NOW) -> list[Arrival]:
    """Poll and register, as the runtime does."""
    files = feeds.poll(now)
    ledger.register(files)
    feeds.acknowledge(files)
    return files
