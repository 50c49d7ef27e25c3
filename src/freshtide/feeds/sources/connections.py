"""The connections of a feed: how their bytes become lines, who may send, and how much of them is kept at most."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

from freshtide.core.feeds import SocketSource

LONGEST_LINE = 1 << 20
"""In bytes. What is longer is no row: somebody sends something else."""
MOST_UNFINISHED = 16 * LONGEST_LINE
"""Bytes of lines that have no end yet, of all connections of a feed together."""
GREETING_PATIENCE = 10.0
"""Seconds within which who connects has to say the secret."""


class Lines:
    """Bytes of one connection, cut into lines."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_too_long = False

    @property
    def unfinished(self) -> int:
        """How many bytes are kept of a line that has no end yet."""
        return len(self._rest)

    def fed(self, received: bytes) -> list[bytes | None]:
        """The lines that are complete now; None for one that was too long."""
        *whole, rest = received.split(b"\n")
        lines = []
        for part in whole:
            self._add(part)
            lines.append(self._taken())
        self._add(rest)
        return lines

    def end(self) -> list[bytes | None]:
        """What was left when the connection ended."""
        return [self._taken()] if self._rest or self._is_too_long else []

    def give_up(self) -> None:
        """The line that has no end yet counts as too long."""
        self._is_too_long = True
        self._rest.clear()

    def _add(self, part: bytes) -> None:
        self._is_too_long = self._is_too_long or len(self._rest) + len(part) > LONGEST_LINE
        if self._is_too_long:
            self._rest.clear()
        else:
            self._rest += part

    def _taken(self) -> bytes | None:
        line = None if self._is_too_long else bytes(self._rest)
        self._rest.clear()
        self._is_too_long = False
        return line


@dataclass(slots=True, kw_only=True, eq=False)
class Connection:
    """Somebody who sends."""

    socket: socket.socket
    heard_at: float
    """When it was made, or when the last bytes came."""
    may_send: bool
    """Whether the secret was said, if there is one to be said."""
    lines: Lines = field(default_factory=Lines)


class Connections:
    """All that are open."""

    def __init__(self, source: SocketSource) -> None:
        self._source = source
        self._open: dict[socket.socket, Connection] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._open.values()))

    @property
    def are_too_many(self) -> bool:
        """Whether nobody else can be let in."""
        return len(self._open) >= self._source.connections

    def get(self, of: object) -> Connection | None:
        return self._open.get(of) if isinstance(of, socket.socket) else None

    def add(self, opened: socket.socket, now: float) -> Connection:
        """Take up a connection. Who was connected to by us need not say who they are."""
        opened.setblocking(False)
        # A peer that is gone without a word is found out.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        may_send = self._source.secret is None or self._source.connect
        self._open[opened] = Connection(socket=opened, heard_at=now, may_send=may_send)
        return self._open[opened]

    def remove(self, connection: Connection) -> None:
        del self._open[connection.socket]
        connection.socket.close()

    def greeted(self, connection: Connection, first: bytes | None) -> bool:
        """Whether the first line of a connection is the secret."""
        secret = (self._source.secret or "").encode()
        connection.may_send = hmac.compare_digest(b"" if first is None else first.strip(), secret)
        return connection.may_send

    def patience(self, connection: Connection) -> float:
        """For how many seconds nothing has to be heard of a connection before it is closed."""
        return self._source.idle if connection.may_send else GREETING_PATIENCE

    def overdue(self, now: float) -> list[Connection]:
        """Those of which nothing was heard for too long."""
        return [one for one in self if now - one.heard_at >= self.patience(one)]

    def next_overdue(self, now: float) -> float | None:
        """In how many seconds the first one will be."""
        return min((max(0.0, one.heard_at + self.patience(one) - now) for one in self), default=None)

    def heard_at(self) -> float:
        """When the last bytes came of anybody who is connected."""
        return max((one.heard_at for one in self), default=float("-inf"))

    def shorten(self) -> None:
        """If lines without an end take too much memory, give up the longest."""
        while sum(one.lines.unfinished for one in self) > MOST_UNFINISHED:
            max(self, key=lambda one: one.lines.unfinished).lines.give_up()
