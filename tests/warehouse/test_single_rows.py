"""Update tables of single rows: from sockets and from Python generators."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from freshtide.core.errors import FreshtideError, UsageError
from tests.warehouse.shop import Shop, stamp

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = {"ts": "timestamp", "k": "string", "v": "int"}


def declare(shop: Shop, query: str = "*", **source: Any) -> None:
    shop.warehouse.feed("ticks", schema=SCHEMA, time_column="ts", **source)
    shop.warehouse.sql(
        f"CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key'='k') AS SELECT {query} FROM STREAM ticks"
    )


def newest(shop: Shop, table: str = "quotes") -> dict[str, int]:
    """Key to value, once an update of the table has been booked: before, it may be half there."""
    if not shop.warehouse.workbench.catalog.tables.get(table).number:
        return {}
    return {row["k"]: row["v"] for row in shop.rows(table)}


def rejected(shop: Shop) -> int | None:
    (report,) = (table for table in shop.warehouse.status().tables if table.name == "quotes")
    return report.rejected


def line(second: int, key: str | None, value: Any) -> str:
    return json.dumps({"ts": stamp(second), "k": key, "v": value}) + "\n"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def first_then(begin: Callable[[], None], done: Callable[[], bool]) -> Callable[[], bool]:
    """Something that begins once the run is going on, and when the run is to end."""
    begun = False

    def until() -> bool:
        nonlocal begun
        if not begun:
            begun = True
            begin()
        return done()

    return until


def test_json_lines_of_many_producers_become_the_newest_rows(shop: Shop) -> None:
    port = free_port()
    declare(shop, listen=f"127.0.0.1:{port}")
    shop.view("dear", "SELECT ts, k, v FROM quotes WHERE v > 1", update_key="k")

    def send() -> None:
        for producer in range(3):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                lines = [line(10 * producer + second, f"k{producer}", second) for second in range(1, 4)]
                connection.sendall("".join(lines).encode())

    expected = {"k0": 3, "k1": 3, "k2": 3}
    shop.warehouse.run(until=first_then(send, lambda: newest(shop) == newest(shop, "dear") == expected))
    (report,) = (table for table in shop.warehouse.status().tables if table.name == "quotes")
    assert (report.residents, report.update_staleness) == (0, 0.0)


def test_what_is_no_row_is_kept_aside_and_the_stream_goes_on(shop: Shop) -> None:
    port = free_port()
    declare(shop, listen=f"127.0.0.1:{port}")
    sent = [line(5, "a", 1), "{broken\n", line(4, "a", 2), line(6, None, 3), line(7, "b", "x"), line(8, "b", 4)]

    def send() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall("".join(sent).encode())

    shop.warehouse.run(until=first_then(send, lambda: rejected(shop) == 3))
    assert newest(shop) == {"a": 1, "b": 4}
    reasons = [row["reason"] for row in shop.rows("quotes__rejects")]
    assert sum("JSON" in reason for reason in reasons) == 1
    assert len(reasons) == 3


def test_a_generator_is_taken_to_its_end_and_listeners_hear_of_every_commit(shop: Shop) -> None:
    def ticks() -> Iterator[dict[str, Any]]:
        for second in range(50):
            yield {"ts": START + timedelta(seconds=second), "k": f"k{second % 3}", "v": second}

    declare(shop, generator=ticks)
    shop.view("odd", "SELECT ts, k, v FROM quotes WHERE v % 2 = 1", update_key="k")
    heard: dict[str, int] = {}
    odd: list[dict[str, Any]] = []

    def hear(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            assert heard.get(row["k"], -1) <= row["v"]
            heard[row["k"]] = row["v"]

    shop.warehouse.listen("quotes", hear)
    shop.warehouse.listen("odd", odd.extend)
    shop.load()
    assert newest(shop) == heard == {"k0": 48, "k1": 49, "k2": 47}
    assert newest(shop, "odd") == {"k1": 49, "k2": 47}
    assert {row["v"] for row in odd} >= {49, 47}
    shop.check()


def test_a_listener_that_fails_is_no_fault_of_the_table(shop: Shop) -> None:
    declare(shop, generator=lambda: iter([{"ts": START, "k": "a", "v": 1}]))
    shop.warehouse.listen("quotes", lambda rows: rows[1]["k"])
    shop.load()
    assert newest(shop) == {"a": 1}


def test_only_tables_with_an_update_key_tell_of_their_rows(shop: Shop) -> None:
    shop.events("trades")
    with pytest.raises(UsageError, match="update_key"):
        shop.warehouse.listen("trades", print)


def test_rows_that_were_not_kept_cannot_be_rebuilt(shop: Shop) -> None:
    declare(shop, generator=lambda: iter([{"ts": START, "k": "a", "v": 1}]))
    shop.load()
    with pytest.raises(FreshtideError, match="not kept"):
        shop.warehouse.backfill("quotes")
    assert newest(shop) == {"a": 1}


def test_a_place_where_somebody_else_listens_is_told_before_anything_runs(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        declare(shop, listen=f"127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(FreshtideError, match="cannot listen"):
            shop.warehouse.run_once()


def test_rows_that_have_been_taken_are_in_the_table_when_a_run_ends_in_order(shop: Shop) -> None:
    taken = threading.Event()

    def ticks() -> Iterator[dict[str, Any]]:
        for key in range(100):
            yield {"ts": START, "k": f"k{key}", "v": key}
        taken.set()

    declare(shop, generator=ticks)
    shop.warehouse.run(until=taken.is_set)
    assert newest(shop) == {f"k{key}": key for key in range(100)}


def test_rows_come_from_whoever_listens(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        declare(shop, connect=f"127.0.0.1:{server.getsockname()[1]}")

        def serve() -> None:
            # The second time the connection is made anew.
            for second in (1, 2):
                with server.accept()[0] as connection:
                    connection.sendall(line(second, "a", second).encode())

        serving = threading.Thread(target=serve)
        serving.start()
        shop.warehouse.run(until=lambda: newest(shop) == {"a": 2})
        serving.join()
