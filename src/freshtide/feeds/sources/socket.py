"""JSON lines over TCP: from everybody who connects, or from a place to connect to."""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterable

from freshtide.core.errors import FreshtideError, Problem
from freshtide.core.feeds import Feed, SocketSource
from freshtide.feeds.sources.connections import LONGEST_LINE, Connection, Connections
from freshtide.feeds.sources.rows import RejectedRow, RowReader, StreamRow
from freshtide.feeds.sources.source import RowReceiver, RowSource
from freshtide.world import SystemClock

_AT_ONCE = 1 << 16
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_PATIENCE = 5.0
"""Seconds for a connection to come about."""
_SILENCE = 1.0
"""Seconds after which nobody expects the next row at once, although somebody is connected."""


class StreamAddressError(FreshtideError):
    """Nobody can listen there."""


class SocketStream(RowSource):
    """One thread that reads all connections. Producers come and go as they like; a lost connection is made again."""

    def __init__(
        self,
        feed: Feed,
        source: SocketSource,
        receiver: RowReceiver,
        *,
        steady: Callable[[], float] | None = None,
    ) -> None:
        """`steady` tells how time passes, if not the clock: by it connections wait and are waited for."""
        super().__init__(receiver)
        self._feed = feed
        self._source = source
        self._steady = steady or SystemClock().steady
        self._reader = RowReader(feed)
        self._selector = selectors.DefaultSelector()
        self._connections = Connections(source)
        self._listener: socket.socket | None = None
        self._is_letting_in = False
        self._stop = threading.Event()
        # A byte here ends the wait for something to read.
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._wait = _FIRST_WAIT
        self._waits_until: float | None = None
        """Before this it is not the time to connect again, or to let somebody in."""
        self._has_tried = not source.connect
        self._thread = threading.Thread(target=self._run, name=f"stream-{feed.name}", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        assert self._listener is not None, "it has been started, and listens"
        host, port = self._listener.getsockname()[:2]
        return host, port

    @property
    def quiet(self) -> bool:
        return self._has_tried and self._steady() - self._connections.heard_at() >= _SILENCE

    def start(self) -> None:
        """Listen, or begin to connect; a StreamAddressError tells why nobody can listen there."""
        if not self._source.connect:
            self._listener = self._listening()
            self._let_in(True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._wake.send(b"\0")
        if self._thread.ident is not None:
            self._thread.join()
        self._selector.close()
        for connection in self._connections:
            self._connections.remove(connection)
        for one in (self._listener, self._wake, self._woken):
            if one is not None:
                one.close()

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
        """Wait until there is something to read or to do, and do it."""
        if self._waits_until is None and self._source.connect and not self._connections:
            self._connect()
        ready = self._selector.select(self._patience())
        now = self._steady()
        if self._waits_until is not None and now >= self._waits_until:
            self._waits_until = None
            self._let_in(not self._source.connect and not self._connections.are_too_many)
        for key, _ in ready:
            if self._stop.is_set():
                return
            connection = self._connections.get(key.fileobj)
            if key.fileobj is self._listener:
                self._accept()
            elif connection is not None:
                self._read(connection)
        for connection in self._connections.overdue(now):
            self._close(connection)

    def _patience(self) -> float | None:
        """For how long nothing is to be done, if nothing comes."""
        now = self._steady()
        known = (self._connections.next_overdue(now), None if self._waits_until is None else self._waits_until - now)
        return min((max(0.0, seconds) for seconds in known if seconds is not None), default=None)

    def _try_later(self) -> None:
        """After each try that brings nothing the wait for the next one is twice as long."""
        self._waits_until = self._steady() + self._wait
        self._wait = min(2.0 * self._wait, _LONGEST_WAIT)

    def _tell(self, message: str, way_out: str) -> None:
        self.problem = Problem(
            message=f"Feed '{self._feed.name}' {message}.", origin=self._feed.origin, way_out=way_out
        )

    def _connect(self) -> None:
        host, port = self._source.host, self._source.port
        try:
            opened = socket.create_connection((host, port), timeout=_PATIENCE)
            self._greet(opened)
        except OSError as error:
            self._tell(
                f"cannot connect to {host}:{port}: {_reason(error)}", "It is tried again until somebody listens there."
            )
            self._try_later()
        else:
            self.problem = None
            self._take_up(opened)
        self._has_tried = True

    def _greet(self, opened: socket.socket) -> None:
        """Say the secret, if there is one, to who was connected to."""
        if self._source.secret is not None:
            try:
                opened.sendall(self._source.secret.encode() + b"\n")
            except OSError:
                opened.close()
                raise

    def _let_in(self, wanted: bool) -> None:
        """Look for those who want to connect, or leave them waiting."""
        if self._listener is not None and wanted != self._is_letting_in:
            if wanted:
                self._selector.register(self._listener, selectors.EVENT_READ)
            else:
                self._selector.unregister(self._listener)
            self._is_letting_in = wanted

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            opened, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return  # it has gone away while it waited to be let in
        except OSError as error:
            # There are no descriptors left, say. The one who waits would be announced again and again.
            self._tell(f"cannot let anybody in: {_reason(error)}", "It is tried again; end what else uses them up.")
            self._let_in(False)
            self._try_later()
            return
        self._wait = _FIRST_WAIT
        self.problem = None
        self._take_up(opened)
        if self._connections.are_too_many:
            most = self._source.connections
            self._tell(f"has {most} connections, and lets nobody else in", "Raise 'connections', or end some of them.")
            self._let_in(False)

    def _take_up(self, opened: socket.socket) -> None:
        self._connections.add(opened, self._steady())
        self._selector.register(opened, selectors.EVENT_READ)

    def _read(self, connection: Connection) -> None:
        try:
            received = connection.socket.recv(_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            received = b""  # it broke off
        if not received:
            self._hand_over(connection.lines.end() if connection.may_send else (), broken_off=True)
            self._close(connection)
            return
        connection.heard_at = self._steady()
        self._wait = _FIRST_WAIT
        lines = connection.lines.fed(received)
        if not connection.may_send and lines and not self._connections.greeted(connection, lines.pop(0)):
            self._tell("was not told its secret by somebody who connected", "Let the first line be the secret.")
            self._close(connection)
            return
        if connection.may_send:
            self._hand_over(lines)
        self._connections.shorten()

    def _close(self, connection: Connection) -> None:
        self._selector.unregister(connection.socket)
        self._connections.remove(connection)
        if self._source.connect:
            self._try_later()
        elif not self._is_letting_in and self._waits_until is None:
            self.problem = None
            self._let_in(True)

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
        self._deliver(rows, rejected)


def _reason(error: OSError) -> str:
    # What Python adds to the words of the system repeats the address.
    told = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return f"{told[:1].lower()}{told[1:]}"
