"""Streams by the kind of their source, and all streams of a project at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from freshtide.core.errors import Problem
from freshtide.core.feeds import Feed, FolderSource, GeneratorSource, SocketSource
from freshtide.feeds.sources.generator import GeneratorStream
from freshtide.feeds.sources.socket import SocketStream
from freshtide.feeds.sources.source import RowReceiver, Stream, in_words


def open_stream(feed: Feed, receiver: RowReceiver) -> Stream:
    """The stream of a feed that brings single rows; it is still to be started."""
    match feed.source:
        case SocketSource() as source:
            return SocketStream(feed, source, receiver)
        case GeneratorSource() as source:
            return GeneratorStream(feed, source, receiver)
        case FolderSource():
            raise ValueError(f"'{feed.name}' brings files")


class StreamSet:
    """The streams of those feeds that bring single rows."""

    def __init__(self, feeds: Iterable[Feed], receiver_of: Callable[[Feed], RowReceiver]) -> None:
        self._streams = {feed.name: open_stream(feed, receiver_of(feed)) for feed in feeds if not feed.brings_files}
        self._started: list[Stream] = []

    def start(self) -> None:
        """Start them all, or none: where one cannot be, those before it are stopped again."""
        try:
            for stream in self._streams.values():
                stream.start()
                self._started.append(stream)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        while self._started:
            self._started.pop().stop()

    @property
    def quiet(self) -> bool:
        """Whether no row is on its way."""
        return all(stream.quiet for stream in self._streams.values())

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(problem for stream in self._streams.values() for problem in stream.problems)

    @property
    def faults(self) -> dict[str, tuple[str, ...]]:
        """The same in words, by feed; feeds without a problem are left out."""
        return in_words({name: stream.problems for name, stream in self._streams.items()})

    def acknowledge(self, feed: str) -> None:
        """All that the feed has brought so far is kept."""
        stream = self._streams[feed]
        stream.acknowledge(stream.position)

    @property
    def unacknowledged(self) -> dict[str, int]:
        """How many rows are not known to be kept, by feed; feeds of which all are, are left out."""
        return {name: stream.unacknowledged for name, stream in self._streams.items() if stream.unacknowledged}

    @property
    def fault(self) -> BaseException | None:
        """What a receiver raised."""
        return next((stream.fault for stream in self._streams.values() if stream.fault is not None), None)
