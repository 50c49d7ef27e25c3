"""JSON lines over TCP: from everybody who connects, or from a place to connect to."""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Iterable

from freshtide.core.errors import FreshtideError, Problem
from freshtide.core.tables import Feed
from freshtide.core.updatestreams import SocketSource
from freshtide.feeds.streams.rows import RejectedRow, RowReader, StreamRow
from freshtide.feeds.streams.stream import RowReceiver

LONGEST_LINE = 1 << 20
"""In bytes. What is longer is no row: somebody sends something else."""
_AT_ONCE = 1 << 16
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_PATIENCE = 5.0
"""Seconds for a connection to come about."""


class StreamAddressError(FreshtideError):
    """Nobody can listen there."""


class _Lines:
    """Bytes of one connection, cut into lines."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_too_long = False

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


class SocketStream:
    """One thread that reads all connections. Producers come and go as they like; a lost connection is made again."""

    def __init__(self, feed: Feed, source: SocketSource, receiver: RowReceiver) -> None:
        self._feed = feed
        self._source = source
        self._receiver = receiver
        self._reader = RowReader(feed)
        self._selector = selectors.DefaultSelector()
        self._connections: dict[socket.socket, _Lines] = {}
        self._listener: socket.socket | None = None
        self._stop = threading.Event()
        # A byte here ends the wait for something to read.
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._wait = _FIRST_WAIT
        self._is_waiting = False
        """Whether it is not the time to connect again yet."""
        self._has_tried = not source.connect
        self._thread = threading.Thread(target=self._run, name=f"stream-{feed.name}", daemon=True)
        self.problem: Problem | None = None
        self.fault: BaseException | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        assert self._listener is not None, "it has been started, and listens"
        host, port = self._listener.getsockname()[:2]
        return host, port

    @property
    def quiet(self) -> bool:
        return self._has_tried and not self._connections

    def start(self) -> None:
        """Listen, or begin to connect; a StreamAddressError tells why nobody can listen there."""
        if not self._source.connect:
            self._listener = self._listening()
            self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._wake.send(b"\0")
        if self._thread.ident is not None:
            self._thread.join()
        self._selector.close()
        for one in (self._listener, self._wake, self._woken, *self._connections):
            if one is not None:
                one.close()
        self._connections.clear()

    def _listening(self) -> socket.socket:
        host, port = self._source.host, self._source.port
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise StreamAddressError(
                f"The feed '{self._feed.name}' cannot listen on {host}:{port}: {_reason(error)}.",
                way_out="End what listens there, or give the feed another address.",
            ) from None
        listener.setblocking(False)
        return listener

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._turn()
        except BaseException as error:
            self.fault = error

    def _turn(self) -> None:
        """Wait until there is something to read, and read it."""
        if self._source.connect and not self._connections and not self._is_waiting:
            self._connect()
        ready = self._selector.select(self._wait if self._is_waiting else None)
        self._is_waiting = False
        for key, _ in ready:
            if self._stop.is_set():
                return
            if key.fileobj is self._listener:
                self._accept()
            elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._connections:
                self._read(key.fileobj)

    def _connect(self) -> None:
        """Try to; after each try that brings nothing the wait for the next one is twice as long."""
        host, port = self._source.host, self._source.port
        try:
            connection = socket.create_connection((host, port), timeout=_PATIENCE)
        except OSError as error:
            self.problem = Problem(
                message=f"Feed '{self._feed.name}' cannot connect to {host}:{port}: {_reason(error)}.",
                origin=self._feed.origin,
                way_out="It is tried again until somebody listens there.",
            )
            self._is_waiting = True
        else:
            self.problem = None
            self._take_up(connection)
        self._wait = min(2.0 * self._wait, _LONGEST_WAIT)
        self._has_tried = True

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # it has gone away while it waited to be let in
        self._take_up(connection)

    def _take_up(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connections[connection] = _Lines()
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: socket.socket) -> None:
        try:
            received = connection.recv(_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            received = b""  # it broke off
        lines = self._connections[connection]
        if received:
            self._wait = _FIRST_WAIT
            self._hand_over(lines.fed(received))
            return
        self._hand_over(lines.end(), broken_off=True)
        self._selector.unregister(connection)
        del self._connections[connection]
        connection.close()
        self._is_waiting = self._source.connect

    def _hand_over(self, lines: Iterable[bytes | None], *, broken_off: bool = False) -> None:
        rows: list[StreamRow] = []
        rejected: list[RejectedRow] = []
        for line in lines:
            if line is None:
                rejected.append(RejectedRow("", f"the line is longer than {LONGEST_LINE} bytes"))
            elif line.strip():
                read = self._reader.line(line.strip())
                if isinstance(read, StreamRow):
                    rows.append(read)
                elif broken_off:
                    rejected.append(RejectedRow(read.content, f"the connection ended within the line: {read.reason}"))
                else:
                    rejected.append(read)
        if rows:
            self._receiver.take(rows)
        if rejected:
            self._receiver.reject(rejected)


def _reason(error: OSError) -> str:
    # What Python adds to the words of the system repeats the address.
    told = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return f"{told[:1].lower()}{told[1:]}"
