"""Single rows from real sockets and from generators: bad ones are told, and the stream goes on."""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.feeds import Column, GeneratorSource, SocketSource
from freshtide.feeds import FeedSet
from freshtide.feeds.sources import (
    RejectedRow,
    RowReader,
    SocketStream,
    StreamAddressError,
    StreamRow,
    StreamSet,
    open_stream,
)
from freshtide.feeds.sources.connections import LONGEST_LINE
from tests.examples import examples

from .streaming import Producer, Receiver, tick, ticks

LISTENING = SocketSource(host="127.0.0.1", port=0)
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def listener(receiver: Receiver) -> Iterator[SocketStream]:
    stream = SocketStream(ticks(LISTENING), LISTENING, receiver)
    stream.start()
    yield stream
    stream.stop()
    assert stream.fault is None


def test_a_line_of_json_becomes_a_row_with_the_types_of_the_schema(listener: SocketStream, receiver: Receiver) -> None:
    Producer(listener.address).sends(tick(5, "ABC", 12.5))
    receiver.has(rows=1)
    (row,) = receiver.rows
    assert row.values == (NOON.replace(second=5), "ABC", 12.5)
    assert row.time == NOON.timestamp() + 5.0
    assert row.content == tick(5, "ABC", 12.5).strip()


def test_several_producers_send_at_once_and_each_keeps_its_order(listener: SocketStream, receiver: Receiver) -> None:
    producers = [Producer(listener.address) for _ in range(5)]
    for second in range(20):
        for number, producer in enumerate(producers):
            producer.sends(tick(second, f"P{number}", float(second)))
    receiver.has(rows=100)
    for number in range(5):
        assert [price for symbol, price in receiver.prices if symbol == f"P{number}"] == [float(n) for n in range(20)]
    assert receiver.rejected == []


def test_a_malformed_line_is_kept_aside_and_the_stream_goes_on(listener: SocketStream, receiver: Receiver) -> None:
    Producer(listener.address).sends(tick(1) + "{not json}\n\n[1, 2]\n" + tick(2))
    receiver.has(rows=2, rejected=2)
    assert receiver.rejected == [
        RejectedRow("{not json}", "it is not valid JSON"),
        RejectedRow("[1, 2]", "it is not an object with a value for each column"),
    ]


def test_a_line_that_comes_in_pieces_is_one_row(listener: SocketStream, receiver: Receiver) -> None:
    producer = Producer(listener.address)
    for piece in (tick(1)[:7], tick(1)[7:30], tick(1)[30:] + tick(2)[:3], tick(2)[3:]):
        producer.sends(piece)
    receiver.has(rows=2)
    assert [row.values[0].second for row in receiver.rows] == [1, 2]


def test_a_line_cut_in_the_middle_when_its_producer_goes_away_is_kept_aside(
    listener: SocketStream, receiver: Receiver
) -> None:
    stays, goes = Producer(listener.address), Producer(listener.address)
    goes.sends(tick(1) + tick(2)[:20]).goes_away()
    receiver.has(rows=1, rejected=1)
    (cut,) = receiver.rejected
    assert cut == RejectedRow(tick(2)[:20], "the connection ended within the line: it is not valid JSON")
    stays.sends(tick(3))
    receiver.has(rows=2)


def test_a_last_line_without_an_end_of_line_counts(listener: SocketStream, receiver: Receiver) -> None:
    Producer(listener.address).sends(tick(1).strip()).goes_away()
    receiver.has(rows=1)
    assert receiver.rejected == []


def test_a_connection_that_is_reset_leaves_the_others_alone(listener: SocketStream, receiver: Receiver) -> None:
    rude = socket.create_connection(listener.address)
    polite = Producer(listener.address).sends(tick(1))
    rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    rude.close()
    polite.sends(tick(2))
    receiver.has(rows=2)


def test_a_line_without_end_is_refused_and_the_next_one_is_read(listener: SocketStream, receiver: Receiver) -> None:
    Producer(listener.address).sends(b"x" * (LONGEST_LINE + 1) + b"\n" + tick(1).encode())
    receiver.has(rows=1, rejected=1)
    assert receiver.rejected[0].reason == f"the line is longer than {LONGEST_LINE} bytes"


def test_what_is_no_text_is_kept_aside(listener: SocketStream, receiver: Receiver) -> None:
    Producer(listener.address).sends(b'{"symbol": "\xff"}\n' + tick(1).encode())
    receiver.has(rows=1, rejected=1)
    assert receiver.rejected[0].reason == "it is not UTF-8"


def test_a_stream_is_quiet_while_nobody_is_connected(listener: SocketStream, receiver: Receiver) -> None:
    at_first = listener.quiet
    producer = Producer(listener.address).sends(tick(1))
    receiver.has(rows=1)
    assert (at_first, listener.quiet) == (True, False)
    producer.sends(tick(2)[:9]).goes_away()
    receiver.has(rejected=1)
    receiver.until(lambda: listener.quiet)


def test_an_address_that_is_taken_is_told_with_the_feed_and_a_way_out(listener: SocketStream) -> None:
    host, port = listener.address
    source = SocketSource(host=host, port=port)
    second = StreamSet([ticks(LISTENING, name="first"), ticks(source, name="second")], lambda _: Receiver())
    with pytest.raises(StreamAddressError) as caught:
        second.start()
    assert caught.value.message == f"The feed 'second' cannot listen on {host}:{port}: address already in use."
    assert caught.value.way_out == "End what listens there, or give the feed another address."


def test_rows_come_from_where_somebody_listens_and_a_lost_connection_is_made_again(receiver: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = SocketSource(host="127.0.0.1", port=server.getsockname()[1], connect=True)
        stream = open_stream(ticks(source), receiver)
        stream.start()
        for second in range(3):
            connection, _ = server.accept()
            connection.sendall(tick(second).encode())
            connection.close()
        receiver.has(rows=3)
        stream.stop()
    assert [row.values[0].second for row in receiver.rows] == [0, 1, 2]


def test_a_place_where_nobody_listens_is_told_until_somebody_does(receiver: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    source = SocketSource(host="127.0.0.1", port=port, connect=True)
    streams = StreamSet([ticks(source)], lambda _: receiver)
    at_first = streams.quiet
    streams.start()
    receiver.until(lambda: bool(streams.problems))
    message = f"Feed 'ticks' cannot connect to 127.0.0.1:{port}: connection refused."
    assert streams.faults == {"ticks": (message,)}
    assert (at_first, streams.quiet) == (False, True), "nobody knows at first whether somebody is there"
    with socket.create_server(("127.0.0.1", port)) as server:
        connection, _ = server.accept()
        connection.sendall(tick(1).encode())
        receiver.has(rows=1)
        assert streams.faults == {}
        connection.close()
        streams.stop()


def generating(function: Callable[[], Any]) -> GeneratorSource:
    return GeneratorSource(function=function, fingerprint="")


def record(second: int, **changes: Any) -> Mapping[str, Any]:
    return {"ts": NOON.replace(second=second), "symbol": "ABC", "price": 1.0, **changes}


def test_what_a_generator_yields_becomes_rows_until_it_ends(receiver: Receiver) -> None:
    stream = open_stream(ticks(generating(lambda: (record(second) for second in range(3)))), receiver)
    stream.start()
    receiver.has(rows=3)
    receiver.until(lambda: stream.quiet)
    assert [row.time for row in receiver.rows] == [NOON.timestamp() + second for second in range(3)]
    assert stream.problems == ()
    assert (stream.position, stream.unacknowledged) == (3, 3)
    stream.acknowledge(2)
    stream.acknowledge(1)
    assert stream.unacknowledged == 1, "what came before an acknowledged row is kept, too"
    stream.stop()


def test_a_record_that_is_none_is_kept_aside_and_the_generator_goes_on(receiver: Receiver) -> None:
    records = [record(1), "abc", record(2, price="dear"), record(3, symbol=None), {"symbol": "ABC"}, record(4)]
    open_stream(ticks(generating(lambda: records)), receiver).start()
    receiver.has(rows=2, rejected=4)
    assert [rejected.reason for rejected in receiver.rejected] == [
        "it is not an object with a value for each column",
        "column 'price': 'dear' is not a double",
        "column 'symbol' is empty",
        "column 'ts' is empty",
    ]


def test_a_generator_that_fails_is_told_and_what_it_had_yielded_counts(receiver: Receiver) -> None:
    def fails() -> Iterator[Mapping[str, Any]]:
        yield record(1)
        raise ConnectionError("the exchange is closed")

    streams = StreamSet([ticks(generating(fails))], lambda _: receiver)
    streams.start()
    receiver.until(lambda: streams.quiet)
    assert len(receiver.rows) == 1
    (problem,) = streams.problems
    assert problem.message == ("The generator of the feed 'ticks' failed with ConnectionError: the exchange is closed.")
    assert problem.way_out == "It yields no more rows until the next run."
    assert streams.fault is None, "it is the user's code, and the run goes on"


def test_a_stopped_generator_hands_nothing_over_though_it_yields_on(receiver: Receiver) -> None:
    may_go_on = threading.Event()

    def slow() -> Iterator[Mapping[str, Any]]:
        yield record(1)
        may_go_on.wait()
        yield from map(record, itertools.cycle(range(60)))

    stream = open_stream(ticks(generating(slow)), receiver)
    stream.start()
    receiver.has(rows=1)
    stream.stop()
    may_go_on.set()
    receiver.until(lambda: stream.quiet)
    assert len(receiver.rows) == 1


def test_what_the_receiver_raises_ends_the_stream_and_is_there_to_be_raised() -> None:
    class Broken(Receiver):
        def take(self, rows: object) -> None:
            raise MemoryError(rows)

    broken = Broken()
    streams = StreamSet([ticks(LISTENING), ticks(generating(lambda: [record(1)]), name="others")], lambda _: broken)
    streams.start()
    broken.until(lambda: streams.fault is not None)
    assert isinstance(streams.fault, MemoryError)
    streams.stop()


def test_a_feed_of_single_rows_has_no_folder_to_be_watched(tmp_path: Path) -> None:
    class Nothing:
        def by_paths(self, _feed: str, _paths: object) -> dict[str, Any]:
            raise AssertionError("nobody looks for files")

        contents = by_paths

    feeds = FeedSet([ticks(LISTENING)], tmp_path, Nothing())  # type: ignore[arg-type]
    (tmp_path / "a.json").write_text(tick(1))
    assert feeds.poll(1.0) == []
    assert feeds.problems == ()


TYPED = [
    ("boolean", True, True),
    ("tinyint", -128, -128),
    ("bigint", 2**62, 2**62),
    ("double", 3, 3.0),
    ("string", 7, "7"),
    ("string", {"a": [1]}, '{"a": [1]}'),
    ("decimal(5,2)", 123.4, Decimal("123.40")),
    ("date", "2026-05-01", date(2026, 5, 1)),
    ("timestamp", "2026-05-01T14:00:00+02:00", NOON),
    ("timestamp_ntz", "2026-05-01T12:00:00", NOON.replace(tzinfo=None)),
    ("ARRAY<INT>", [1, None], [1, None]),
    ("MAP<STRING, DATE>", {"a": "2026-05-01"}, [("a", date(2026, 5, 1))]),
    (
        "STRUCT<a: INT, at: ARRAY<STRUCT<t: TIMESTAMP, d: DECIMAL(5, 2)>>>",
        {"at": [{"t": "2026-05-01T12:00:00Z", "d": 1}], "other": 1},
        {"a": None, "at": [{"t": NOON, "d": Decimal("1.00")}]},
    ),
    ("double", None, None),
]


@pytest.mark.parametrize(("type_", "written", "value"), TYPED)
def test_each_type_is_read_as_what_it_is(type_: str, written: object, value: object) -> None:
    read = RowReader(_with(type_)).record({"ts": "2026-05-01T12:00:00Z", "x": written})
    assert isinstance(read, StreamRow)
    assert read.values[1] == value


@pytest.mark.parametrize(
    ("type_", "written", "reason"),
    [
        ("boolean", 1, "column 'x': '1' is not a boolean"),
        ("tinyint", 128, "column 'x': '128' is not a tinyint"),
        ("int", 1.5, "column 'x': '1.5' is not an int"),
        ("int", True, "column 'x': 'true' is not an int"),
        ("double", "NaN", "column 'x': 'NaN' is not a double"),
        ("float", 1e300, "column 'x': '1e+300' is not a float"),
        ("string", "\ud800", "column 'x': '\\ud800' is not a string"),
        ("MAP<STRING,INT>", {"\udfff": 1}, "column 'x': '{\"\\udfff\": 1}' is not a MAP<STRING,INT>"),
        ("decimal(5,2)", 1234.5, "column 'x': '1234.5' is not a decimal(5,2)"),
        ("date", "yesterday", "column 'x': 'yesterday' is not a date"),
        ("timestamp", 12, "column 'x': '12' is not a timestamp"),
        ("ARRAY<INT>", 1, "column 'x': '1' is not an ARRAY<INT>"),
        ("ARRAY<INT>", [1, "b"], "column 'x': '[1, \"b\"]' is not an ARRAY<INT>"),
        ("STRUCT<a: INT>", [1], "column 'x': '[1]' is not a STRUCT<a: INT>"),
    ],
)
def test_a_value_of_another_type_is_told(type_: str, written: object, reason: str) -> None:
    read = RowReader(_with(type_)).record({"ts": "2026-05-01T12:00:00Z", "x": written})
    assert isinstance(read, RejectedRow)
    assert read.reason == reason


@pytest.mark.parametrize(
    ("time_format", "written"),
    [("epoch_seconds", NOON.timestamp()), ("epoch_millis", NOON.timestamp() * 1e3), ("dd/MM/yyyy HH", "01/05/2026 12")],
)
def test_times_are_read_as_the_feed_says(time_format: str, written: object) -> None:
    feed = ticks(schema=(Column(name="ts", type="string"),), time_format=time_format)
    read = RowReader(feed).record({"ts": written})
    assert isinstance(read, StreamRow)
    assert (read.time, read.values) == (NOON.timestamp(), (NOON,))


def test_a_number_that_json_does_not_have_is_no_json() -> None:
    read = RowReader(ticks()).line(b'{"ts": "2026-05-01T12:00:00Z", "symbol": "ABC", "price": NaN}')
    assert read == RejectedRow('{"ts": "2026-05-01T12:00:00Z", "symbol": "ABC", "price": NaN}', "it is not valid JSON")


@settings(max_examples=examples(60))
@given(line=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_a_row_or_rejected_with_a_reason(line: bytes) -> None:
    read = RowReader(ticks()).line(line)
    assert isinstance(read, StreamRow) or read.reason


@settings(max_examples=examples(20))
@given(
    seconds=st.lists(st.integers(0, 59), min_size=1, max_size=12),
    cuts=st.lists(st.integers(0, 800), max_size=6).map(sorted),
)
def test_however_the_bytes_are_cut_the_same_rows_come(seconds: list[int], cuts: list[int]) -> None:
    sent = "".join(map(tick, seconds))
    receiver = Receiver()
    stream = SocketStream(ticks(LISTENING), LISTENING, receiver)
    stream.start()
    producer = Producer(stream.address)
    for start, end in itertools.pairwise([0, *cuts, len(sent)]):
        producer.sends(sent[start:end])
    producer.goes_away()
    receiver.has(rows=len(seconds))
    stream.stop()
    assert [row.values[0].second for row in receiver.rows] == seconds
    assert receiver.rejected == []


def _with(type_: str) -> Any:
    return ticks(schema=(Column(name="ts", type="timestamp"), Column(name="x", type=type_)))
