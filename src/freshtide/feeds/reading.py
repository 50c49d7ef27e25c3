"""Reading arrivals beside the polls: what takes long in one feed must not keep the others waiting."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from freshtide.core.feeds import Feed
from freshtide.feeds.admission import Findings
from freshtide.feeds.errors import UnreadableFileError
from freshtide.feeds.inspection import inspect
from freshtide.feeds.watching import SettledFile
from freshtide.world import Disk

Examined = tuple[SettledFile, Findings]

# Up to this much is read in a few hundredths of a second, quicker than another thread would hear of it.
_FEW_FILES = 32
_FEW_BYTES = 1_000_000


def is_quick(files: Sequence[SettledFile]) -> bool:
    """Whether reading these at once delays nobody."""
    return len(files) <= _FEW_FILES and sum(file.size for file in files) <= _FEW_BYTES


def read(disk: Disk, feed: Feed, file: SettledFile) -> Examined:
    try:
        return file, inspect(feed, file, disk)
    except UnreadableFileError as error:
        return file, error
    except Exception as error:  # a file that trips the inspection itself is kept aside, not tried for ever
        return file, UnreadableFileError(f"The file could not be inspected: {error!r}.")


class Reading:
    """A thread that reads a feed's files. `room` limits how many of them read at the same time."""

    def __init__(self, disk: Disk, feed: Feed, files: Sequence[SettledFile], room: threading.Semaphore) -> None:
        self._disk = disk
        self._feed = feed
        self._files = files
        self._room = room
        self._found: list[Examined] = []
        self._given_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"reading-{feed.name}", daemon=True)
        self._thread.start()

    @property
    def found(self) -> list[Examined] | None:
        """What was found, None while there is still something to read."""
        return None if self._thread.is_alive() else self._found

    def give_up(self) -> None:
        """Read no further file."""
        self._given_up.set()

    def _run(self) -> None:
        with self._room:
            for file in self._files:
                if self._given_up.is_set():
                    return
                self._found.append(read(self._disk, self._feed, file))
