"""The network at work: files that appear in the landing folders as time passes, real or not."""

from __future__ import annotations

import os
import threading
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from freshtide.demo.network import Network
from freshtide.demo.spans import Span, millis
from freshtide.demo.streams import STREAMS, Stream

_EVERY = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class DueFile:
    """A file that is due: it arrives at the end of its span."""

    stream: Stream
    span: Span


class Generator:
    """Writes the files of the demo's feeds below a project's folder.

    What a file holds follows from the seed, the start and its place in its feed, and not from when or in how
    many steps it is asked for. At the start there is one file of every feed.
    """

    def __init__(self, root: Path, *, seed: int, start: float) -> None:
        self._landing = root / "landing"
        self._start = millis(start)
        self._network = Network.built(seed=seed, start=self._start)
        self._written = {stream.feed: 0 for stream in STREAMS}

    def due(self, now: float, *, cut: Set[str] = frozenset()) -> list[DueFile]:
        """The files that arrive up to now and have not been written, in the order of their arrival.

        Those of feeds that are cut off stay where they are, and arrive when they no longer are.
        """
        found = []
        for stream in STREAMS:
            if stream.feed in cut:
                continue
            index = self._written[stream.feed]
            while (span := stream.span(index, self._start)).end <= millis(now):
                found.append(DueFile(stream=stream, span=span))
                index += 1
        return sorted(found, key=lambda arrival: (arrival.span.end, arrival.stream.feed))

    def write_until(self, now: float, *, cut: Set[str] = frozenset()) -> list[Path]:
        """Write all files that are due; where they are."""
        return [self._write(arrival) for arrival in self.due(now, cut=cut)]

    def _write(self, arrival: DueFile) -> Path:
        stream, span = arrival.stream, arrival.span
        rng = self._network.rng(f"{stream.feed}/{span.index}")
        content = stream.content(self._network, span, rng)
        path = self._landing / stream.folder / stream.file_name(span)
        _put(path, content, modified=span.end)
        if stream.with_marker:
            path.with_name(f"{path.name}.done").touch()
        self._written[stream.feed] = span.index + 1
        return path


def _put(path: Path, content: bytes, *, modified: int) -> None:
    """Let a file appear at once and complete, modified at the given moment (milliseconds)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_bytes(content)
    nanoseconds = modified * 1_000_000
    os.utime(unfinished, ns=(nanoseconds, nanoseconds))
    unfinished.rename(path)


class Clock(Protocol):
    def now(self) -> float: ...


def feed_live(generator: Generator, clock: Clock, stop: threading.Event) -> threading.Thread:
    """Write files as they fall due, on a thread of their own, until stopped; the thread, to join."""

    def run() -> None:
        generator.write_until(clock.now())
        while not stop.wait(_EVERY):
            generator.write_until(clock.now())

    # A daemon: a demo that fails elsewhere must not be kept alive by its data.
    thread = threading.Thread(target=run, name="demo-feeds", daemon=True)
    thread.start()
    return thread
