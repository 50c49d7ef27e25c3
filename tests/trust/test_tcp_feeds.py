"""Who connects to a feed can neither use up the machine, nor keep a run from ending, nor send without the secret."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from freshtide.cli.checks import check_everything
from freshtide.core.feeds import SocketSource
from freshtide.feeds.sources import SocketStream
from freshtide.feeds.sources.connections import LONGEST_LINE, MOST_UNFINISHED, Lines
from tests.feeds.streaming import Producer, Receiver, tick, ticks
from tests.warehouse.shop import Shop
from tests.warehouse.test_single_rows import declare, line, newest


@contextmanager
def listening(receiver: Receiver, **limits: Any) -> Iterator[SocketStream]:
    source = SocketSource(host="127.0.0.1", port=0, **limits)
    stream = SocketStream(ticks(source), source, receiver)
    stream.start()
    try:
        yield stream
    finally:
        stream.stop()
        assert stream.fault is None


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(10.0)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_of_too_many_connections_the_last_ones_wait_until_there_is_room() -> None:
    receiver = Receiver()
    with listening(receiver, connections=2) as stream:
        first, _ = Producer(stream.address).sends(tick(1)), Producer(stream.address).sends(tick(2))
        receiver.has(rows=2)
        third = Producer(stream.address).sends(tick(3))
        receiver.until(lambda: stream.problem is not None)
        assert len(receiver.rows) == 2
        assert stream.problem is not None
        assert "has 2 connections" in stream.problem.message
        first.goes_away()
        receiver.has(rows=3)
        third.goes_away()
        receiver.until(lambda: stream.problem is None)


def test_a_machine_without_descriptors_is_not_asked_for_one_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Receiver()
    tries: list[float] = []
    accept = socket.socket.accept

    def refused(_: socket.socket) -> Any:
        tries.append(time.monotonic())
        raise OSError(errno.EMFILE, "Too many open files")

    with listening(receiver) as stream:
        monkeypatch.setattr(socket.socket, "accept", refused)
        Producer(stream.address).sends(tick(1))
        receiver.until(lambda: len(tries) > 3)
        assert tries[3] - tries[0] >= 0.5
        assert stream.problem is not None
        assert "too many open files" in stream.problem.message
        monkeypatch.setattr(socket.socket, "accept", accept)
        receiver.has(rows=1)
        assert stream.problem is None


def test_a_connection_of_which_nothing_is_heard_is_closed() -> None:
    receiver = Receiver()
    with listening(receiver, idle=0.3) as stream, socket.create_connection(stream.address) as silent:
        assert is_closed(silent)


def test_only_who_says_the_secret_first_may_send() -> None:
    receiver = Receiver()
    with listening(receiver, secret="open sesame") as stream:
        with socket.create_connection(stream.address) as stranger:
            stranger.sendall(tick(1).encode() * 2)
            assert is_closed(stranger)
        with socket.create_connection(stream.address) as hasty:
            hasty.sendall(b"open sesam")
        Producer(stream.address).sends("open ").sends("sesame\n" + tick(2)).sends(tick(3))
        receiver.has(rows=2)
        assert [row.values[0].second for row in receiver.rows] == [2, 3]
        # A line of a stranger is no reject either: it may be half of the secret.
        assert receiver.rejected == []
    assert "open sesame" not in repr(SocketSource(host="h", port=1, secret="open sesame"))


def test_a_secret_is_said_to_whom_the_feed_connects() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = SocketSource(host="127.0.0.1", port=server.getsockname()[1], connect=True, secret="open sesame")
        receiver = Receiver()
        stream = SocketStream(ticks(source), source, receiver)
        stream.start()
        with server.accept()[0] as connection:
            assert connection.recv(100) == b"open sesame\n"
            connection.sendall(tick(1).encode())
            receiver.has(rows=1)
        stream.stop()


def test_lines_that_never_end_take_a_bounded_amount_of_memory() -> None:
    receiver = Receiver()
    with listening(receiver) as stream:
        too_many = 4
        endless = [Producer(stream.address) for _ in range(MOST_UNFINISHED // LONGEST_LINE + too_many)]
        for producer in endless:
            producer.sends(b"x" * (LONGEST_LINE - 1))

        def lines() -> list[Lines]:
            return [connection.lines for connection in stream._connections]

        receiver.until(lambda: sum(line._is_too_long for line in lines()) == too_many)
        unfinished = sum(line.unfinished for line in lines())
        assert LONGEST_LINE < unfinished <= MOST_UNFINISHED
        for producer in endless:
            producer.sends("\n" + tick(1))
        receiver.has(rows=len(endless), rejected=len(endless))


def test_an_open_connection_does_not_keep_a_single_pass_from_ending(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        declare(shop, connect=f"127.0.0.1:{server.getsockname()[1]}")
        ended = threading.Event()

        def serve() -> None:
            with server.accept()[0] as connection:
                connection.sendall(line(1, "a", 1).encode())
                ended.wait()

        serving = threading.Thread(target=serve)
        serving.start()
        shop.load()
        ended.set()
        serving.join()
    assert newest(shop) == {"a": 1}


def test_the_doctor_tells_of_a_feed_that_everybody_may_send_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "feeds").mkdir()
    (tmp_path / "freshtide.yml").write_text("name: ticks\n")
    rest = "schema: {ts: timestamp, k: string}\ntime_column: ts\n"
    (tmp_path / "feeds" / "open.yml").write_text(f"listen: 0.0.0.0:9109\n{rest}")
    monkeypatch.setenv("TICKS_SECRET", "open sesame")
    (tmp_path / "feeds" / "closed.yml").write_text(f"listen: 0.0.0.0:9110\nsecret: ${{TICKS_SECRET}}\n{rest}")
    (tmp_path / "feeds" / "local.yml").write_text(f"listen: 9111\n{rest}")
    (tmp_path / "tables").mkdir()
    table = "CREATE STREAMING TABLE {0}s TBLPROPERTIES ('update_key' = 'k') AS SELECT * FROM STREAM {0};\n"
    (tmp_path / "tables" / "all.sql").write_text("".join(map(table.format, ("open", "closed", "local"))))
    told = [finding for finding in check_everything(tmp_path) if finding.check.startswith("Feed")]
    assert [(finding.check, finding.ok) for finding in told] == [("Feed 'open'", False)]
    assert "secret" in (told[0].way_out or "")
