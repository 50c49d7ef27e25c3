"""Rows that a Python function yields."""

from __future__ import annotations

import threading

from freshtide.core.errors import Problem
from freshtide.core.feeds import Feed, GeneratorSource
from freshtide.feeds.sources.rows import RowReader, StreamRow
from freshtide.feeds.sources.source import RowReceiver, RowSource


class GeneratorStream(RowSource):
    """A thread that takes one row after the other as they are yielded. It ends with the function."""

    def __init__(self, feed: Feed, source: GeneratorSource, receiver: RowReceiver) -> None:
        super().__init__(receiver)
        self._feed = feed
        self._source = source
        self._reader = RowReader(feed)
        self._lock = threading.Lock()
        """Held while a row is handed over."""
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"stream-{feed.name}", daemon=True)
        self.quiet = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """A function may take as long as it likes for its next row: nobody waits for it, and the row is not taken."""
        with self._lock:
            self._stopped = True

    def _run(self) -> None:
        try:
            for record in self._source.function():
                if not self._hand_over(record):
                    return
        except Exception as error:  # the user's code: it is told, and the other feeds go on
            self.problem = Problem(
                message=f"The generator of the feed '{self._feed.name}' failed with {type(error).__name__}: {error}.",
                origin=self._feed.origin,
                way_out="It yields no more rows until the next run.",
            )
        finally:
            self.quiet = True

    def _hand_over(self, record: object) -> bool:
        """Whether more rows are wanted."""
        read = self._reader.record(record)
        with self._lock:
            if self._stopped:
                return False
            try:
                if isinstance(read, StreamRow):
                    self._deliver([read], [])
                else:
                    self._deliver([], [read])
            except BaseException as error:
                self.fault = error
                return False
        return True
