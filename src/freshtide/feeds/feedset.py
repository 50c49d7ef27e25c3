"""All feeds of a project that bring files: what a runtime thread polls."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.errors import Problem
from freshtide.core.feeds import Feed
from freshtide.feeds.admission import Ledger
from freshtide.feeds.inspection import check_feed
from freshtide.feeds.settling import Signature
from freshtide.feeds.sources.folder import WatchedFolder, arrival_order
from freshtide.feeds.sources.source import in_words
from freshtide.feeds.watching import FolderWatcher
from freshtide.world import Disk, OsDisk


def says_the_same(feed: Feed, other: Feed) -> bool:
    """Whether two declarations of a feed are one, wherever they are written."""
    return replace(feed, origin=None) == replace(other, origin=None)


# A file that holds everything is edited where it lies. There are few of them, so they are looked at often.
_EDITED_IN_PLACE = 1.0


class FeedSet:
    """Watches feeds and admits what settles in them.

    What a poll returns is to be registered in the ledger and then acknowledged: until then it comes again, and nothing
    else of its feed. `known` has, by feed and path, the signature (size, modified_ns) of the newest record of any
    state, so that a restart does not read everything again.
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
        self._root = root
        self._ledger = ledger
        self._sweep_interval = sweep_interval
        self._disk = disk or OsDisk()
        self._room = threading.Semaphore(os.cpu_count() or 1)
        self._folders: dict[str, WatchedFolder] = {}
        self.follow(feeds, known=known or {})

    def follow(self, feeds: Iterable[Feed], *, known: Mapping[str, Mapping[str, Signature]]) -> None:
        """Watch these feeds from now on; those that say what they said before are watched on as they are."""
        before, folders = dict(self._folders), dict[str, WatchedFolder]()
        for feed in feeds:
            if not feed.brings_files:
                continue  # it has no folder to be watched
            watched = before.get(feed.name)
            if watched is not None and says_the_same(watched.feed, feed):
                folders[feed.name] = before.pop(feed.name)
                continue
            check_feed(feed)
            watcher = FolderWatcher(
                feed,
                self._root,
                known=self._known(feed, known.get(feed.name, {})),
                sweep_interval=min(self._sweep_interval, _EDITED_IN_PLACE)
                if feed.is_replaced
                else self._sweep_interval,
                disk=self._disk,
            )
            folders[feed.name] = WatchedFolder(feed, watcher, self._ledger, disk=self._disk, room=self._room)
        self._folders = folders
        for folder in before.values():
            folder.stop()

    def _known(self, feed: Feed, known: Mapping[str, Signature]) -> Mapping[str, Signature]:
        """What need not be read again. What was put aside may be in order by now: a seed says itself what it holds."""
        if not feed.is_replaced:
            return known
        registered = self._ledger.by_paths(feed.name, list(known))
        put_aside = {path for path, file in registered.items() if file.state is ArrivalState.QUARANTINED}
        return {path: signature for path, signature in known.items() if path not in put_aside}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What kept feeds from being watched in the last poll."""
        return tuple(problem for folder in self._folders.values() for problem in folder.problems)

    @property
    def faults(self) -> dict[str, tuple[str, ...]]:
        """The same in words, by feed; feeds without a problem are left out."""
        return in_words({feed: folder.problems for feed, folder in self._folders.items()})

    @property
    def settling(self) -> bool:
        """Whether something is on its way: it will settle by time alone, or is being read, or not acknowledged."""
        return not all(folder.quiet for folder in self._folders.values())

    def close(self) -> None:
        """Read no further file; those not handed out are seen again by the next set."""
        for folder in self._folders.values():
            folder.stop()

    @property
    def folders(self) -> Iterable[WatchedFolder]:
        """Those of the feeds: what takes long to read in one is read on another thread, and found by a later poll."""
        return self._folders.values()

    def poll(self, now: float, *, steady: float | None = None) -> list[Arrival]:
        """What has arrived in all feeds, in the order it is to count as having arrived in.

        `steady` is the same moment by a clock that nobody sets.
        """
        steady = now if steady is None else steady
        return sorted((file for folder in self.folders for file in folder.poll(now, steady=steady)), key=arrival_order)

    def acknowledge(self, arrivals: Iterable[Arrival]) -> None:
        """The ledger has these, wherever they came from."""
        for arrival in arrivals:
            if (folder := self._folders.get(arrival.feed)) is not None:
                folder.acknowledge(arrival.position)
