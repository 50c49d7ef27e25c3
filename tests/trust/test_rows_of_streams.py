"""Single rows that have been taken from a stream stay, whatever becomes of their table before they are in it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from freshtide.spark import SparkSession
from tests.warehouse.shop import Shop
from tests.warehouse.test_single_rows import START, declare, first_then, free_port, line, newest, rejected


def waiting(shop: Shop) -> int:
    return shop.warehouse.workbench.computer.streams["quotes"].stream.pending.residents


def set_status(shop: Shop, status: str) -> None:
    shop.warehouse.workbench.catalog.tables.set_status("quotes", status)


def send(port: int, *lines: str) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall("".join(lines).encode())


def test_rows_that_wait_for_a_paused_table_are_kept_over_an_orderly_end(shop: Shop) -> None:
    port = free_port()
    declare(shop, listen=f"127.0.0.1:{port}")
    shop.warehouse.run(until=first_then(lambda: send(port, line(1, "a", 1)), lambda: newest(shop) == {"a": 1}))
    set_status(shop, "paused")
    sent = [line(2, "a", 2), line(2, "b", 3), "{broken\n"]
    shop.warehouse.run(until=first_then(lambda: send(port, *sent), lambda: waiting(shop) == 2))
    # Twice: what was kept is kept again as long as nobody could take it.
    for _ in range(2):
        shop = shop.again()
        declare(shop, listen=f"127.0.0.1:{port}")
        shop.load()
        assert newest(shop) == {"a": 1}
    set_status(shop, "active")
    shop.load()
    assert newest(shop) == {"a": 2, "b": 3}
    assert [row["content"] for row in shop.rows("quotes__rejects")] == ["{broken"]
    # And once they are in the table they are kept nowhere else: what came later is not undone.
    send_later = first_then(lambda: send(port, line(2, "b", 9)), lambda: newest(shop) == {"a": 2, "b": 9})
    shop.warehouse.run(until=send_later)
    shop = shop.again()
    declare(shop, listen=f"127.0.0.1:{port}")
    shop.load()
    assert newest(shop) == {"a": 2, "b": 9}
    shop.warehouse.close()


def test_rows_of_a_table_that_was_given_up_are_in_it_once_its_query_is_mended(
    tmp_path: Path, spark: SparkSession
) -> None:
    def ticks() -> Iterator[dict[str, Any]]:
        yield {"ts": START, "k": "a", "v": 0}
        yield {"ts": START, "k": "b", "v": 5}

    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 1})
    declare(shop, "ts, k, 10 / v AS v", generator=ticks)
    assert "zero" in shop.warehouse.run_once().failed["quotes"]
    later = shop.again()
    declare(later, "ts, k, coalesce(try_divide(10, v), 0.0D) AS v", generator=lambda: iter(()))
    later.warehouse.resume("quotes")
    later.load()
    assert newest(later) == {"a": 0, "b": 2}
    later.warehouse.close()


@pytest.mark.parametrize("bad", ['{"ts": "2026-01-01T00:00:01Z", "k": "\\ud800", "v": 1}', '{"\\udfff": "\\ud83d"}'])
def test_half_a_character_is_a_reject_and_the_rows_beside_it_come_in(shop: Shop, bad: str) -> None:
    port = free_port()
    declare(shop, listen=f"127.0.0.1:{port}")
    sent = [line(1, "a", 1), bad + "\n", line(1, "b", 2)]
    tables = shop.warehouse.workbench.catalog.tables

    def is_over() -> bool:
        return rejected(shop) == 1 or tables.get("quotes").status == "failed"

    shop.warehouse.run(until=first_then(lambda: send(port, *sent), is_over))
    assert newest(shop) == {"a": 1, "b": 2}
    assert [json.loads(row["content"]) for row in shop.rows("quotes__rejects")] == [json.loads(bad)]


def test_no_record_of_a_generator_fails_the_table(shop: Shop) -> None:
    class Unspeakable:
        def __str__(self) -> str:
            raise ValueError("no words")

    within: dict[str, Any] = {}
    within["v"] = within

    def ticks() -> Iterator[Any]:
        yield {"ts": START, "k": "a", "v": 1}
        yield {"ts": START, "k": "\ud800", "v": 1}
        yield {"ts": START, "k": Unspeakable(), "v": 1}
        yield {("ts", 1): START}
        yield within
        yield {"ts": START, "k": "b", "v": 2}

    declare(shop, generator=ticks)
    shop.load()
    assert newest(shop) == {"a": 1, "b": 2}
    assert len(shop.rows("quotes__rejects")) == 4


def test_a_row_of_the_future_is_a_reject_and_does_not_outlast_those_that_follow(shop: Shop) -> None:
    port = free_port()
    declare(shop, listen=f"127.0.0.1:{port}")
    ahead = json.dumps({"ts": "9000-01-01T00:00:00Z", "k": "a", "v": 9}) + "\n"
    sent = [line(1, "a", 1), ahead, line(2, "a", 2)]
    shop.warehouse.run(until=first_then(lambda: send(port, *sent), lambda: newest(shop) == {"a": 2}))
    assert [row["reason"] for row in shop.rows("quotes__rejects")] == [
        "column 'ts': the time is more than 1h ahead of the clock"
    ]
