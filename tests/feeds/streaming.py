"""Streams under test: a feed of ticks, a receiver that can be waited for, and producers on the loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

from freshtide.core.feeds import Column, Feed, SocketSource, StreamSource
from freshtide.feeds.formats import JsonFormat
from freshtide.feeds.sources import RejectedRow, StreamRow
from tests.feedsettings import feed_of

_LONGEST = 20.0
"""No test waits that long, unless it fails."""
_GLANCE = 0.02


NOWHERE = SocketSource(host="localhost", port=1)
"""For tests that open no stream."""


def ticks(source: StreamSource = NOWHERE, **changes: Any) -> Feed:
    settings: dict[str, Any] = {
        "name": "ticks",
        "format": JsonFormat,
        "schema": (
            Column(name="ts", type="timestamp"),
            Column(name="symbol", type="string", nullable=False),
            Column(name="price", type="double"),
        ),
        "time_column": "ts",
        "source": source,
    }
    return feed_of(settings | changes)


def tick(second: int, symbol: str = "ABC", price: float = 1.0) -> str:
    return f'{{"ts": "2026-05-01T12:00:{second:02d}Z", "symbol": "{symbol}", "price": {price}}}\n'


class Receiver:
    """Keeps what it is handed."""

    def __init__(self) -> None:
        self.rows: list[StreamRow] = []
        self.rejected: list[RejectedRow] = []
        self._changed = threading.Condition()

    def take(self, rows: Sequence[StreamRow]) -> None:
        with self._changed:
            self.rows += rows
            self._changed.notify_all()

    def reject(self, rejected: Sequence[RejectedRow]) -> None:
        with self._changed:
            self.rejected += rejected
            self._changed.notify_all()

    def has(self, *, rows: int = 0, rejected: int = 0) -> None:
        """Wait until so much has come."""
        self.until(lambda: len(self.rows) >= rows and len(self.rejected) >= rejected)

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait for something that may happen without a row coming, too: it is looked at now and then."""
        with self._changed:
            for _ in range(int(_LONGEST / _GLANCE)):
                if self._changed.wait_for(happened, _GLANCE):
                    return
            raise AssertionError(f"came: {self.rows}, {self.rejected}")

    @property
    def prices(self) -> list[tuple[str, float]]:
        return [(row.values[1], row.values[2]) for row in self.rows]


class Producer:
    """Somebody who sends to an address, as `nc` does."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=_LONGEST)

    def sends(self, text: str | bytes) -> Producer:
        self._socket.sendall(text.encode() if isinstance(text, str) else text)
        return self

    def goes_away(self) -> None:
        self._socket.close()
