"""How update tables stand, beside append tables: in status, in explanations and on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.catalog import LatestStreamRow
from freshtide.observe import TableReport, count_rows, feed_healths
from tests.cli.conftest import terminal
from tests.cli.scenarios import Terminal

from .shop import NOON, Shop, write_project

__all__ = ["terminal"]
TICKS = "listen: localhost:9009\nschema: {ts: timestamp, symbol: string, price: double}\ntime_column: ts\n"
TABLES = """\
CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key' = 'symbol', 'target_lag' = '10s')
    AS SELECT * FROM STREAM ticks;
CREATE STREAMING TABLE newest_orders TBLPROPERTIES ('update_key' = 'id') AS SELECT * FROM STREAM orders_feed;
CREATE MATERIALIZED VIEW board TBLPROPERTIES ('update_key' = 'symbol') AS SELECT * FROM quotes WHERE price > 0;
"""


@pytest.fixture
def market(tmp_path: Path) -> Iterator[Shop]:
    """The shop, with quotes that come over a socket and the newest order of each id."""
    root = write_project(tmp_path / "shop")
    (root / "feeds" / "ticks.yml").write_text(TICKS, encoding="utf-8")
    (root / "tables" / "market.sql").write_text(TABLES, encoding="utf-8")
    opened = Shop.open(root)
    yield opened
    opened.close()


def waits(market: Shop, since: float | None, *, residents: int = 3, name: str = "quotes") -> None:
    standing = LatestStreamRow(
        pending_since=None if since is None else NOON + since, residents=residents, superseded=1_234, rejected=5
    )
    market.catalog.streams.put(name, standing)


def report(market: Shop, name: str, at: float = 0.0) -> TableReport:
    (found,) = market.status(at, select=(name,)).tables
    return found


def test_the_staleness_of_an_update_table_is_the_age_of_its_oldest_pending_update(market: Shop) -> None:
    market.is_fresh("quotes", -500.0)
    waits(market, -8.0)
    found = report(market, "quotes", at=1.0)
    assert (found.update_staleness, found.staleness) == (9.0, 501.0), "two definitions, kept apart by name"
    assert (found.residents, found.superseded, found.rejected) == (3, 1_234, 5)


def test_with_nothing_pending_an_update_table_is_not_stale_however_old_its_rows_are(market: Shop) -> None:
    market.is_fresh("quotes", -500.0)
    waits(market, None, residents=0)
    found = report(market, "quotes")
    assert (found.update_staleness, found.within_target) == (0.0, True)


def test_a_target_lag_is_held_against_the_oldest_pending_update(market: Shop) -> None:
    waits(market, -10.0)
    assert report(market, "quotes").within_target is True
    assert [table.name for table in market.status(at=1.0).broken] == ["quotes"]


def test_a_file_that_is_still_to_be_read_is_pending_too(market: Shop) -> None:
    market.arrives("orders", "/in/1", 0.0, at=-30.0)
    market.catalog.arrivals.adopt("newest_orders", "orders_feed")
    assert report(market, "newest_orders").update_staleness == 30.0
    waits(market, -40.0, name="newest_orders")
    assert report(market, "newest_orders").update_staleness == 40.0


def test_append_tables_and_views_have_none_of_these_numbers(market: Shop) -> None:
    for name in ("orders", "sales", "board"):
        shown = report(market, name).as_json()
        assert [shown[key] for key in ("update_staleness", "residents", "superseded", "rejected")] == [None] * 4


def test_rows_are_counted_where_they_come_in_files(market: Shop) -> None:
    counted = count_rows(market.project, market.catalog, market.store, tuple(market.project.graph))
    assert {count.table for count in counted} == {"orders", "clicks", "newest_orders"}


def test_what_waits_is_told_in_words(market: Shop) -> None:
    market.is_fresh("quotes", -500.0)
    waits(market, -8.0)
    said = market.says("quotes")
    assert "The oldest pending update of 'quotes' has waited 8s. That is within its target lag of 10s." in said
    assert (
        "3 rows wait in its queue; so far 1,234 were superseded by newer ones before they were processed, and 5 "
        "rejected." in said
    )
    assert "It is first in the queue: it gains" in said
    assert "x 8.0s that its oldest update has waited" in said


def test_nothing_pending_is_told_in_words(market: Shop) -> None:
    waits(market, None, residents=0)
    said = market.says("quotes")
    assert "Nothing is pending for 'quotes': it holds the newest row of every key." in said
    assert "0 rows wait in its queue" in said


def test_an_update_table_that_has_waited_longer_goes_before_an_append_table(market: Shop) -> None:
    market.is_fresh("orders", -60.0)
    market.arrives("orders", "/in/1", 0.0, at=-1.0)
    waits(market, -5.0)
    assert "'orders' goes first" in market.says("quotes")
    assert "'quotes' goes first" in market.says("orders", at=600.0)


def test_status_and_freshness_show_update_tables_apart(terminal: Terminal, market: Shop) -> None:
    root = str(market.project.root)
    waits(market, -100.0)
    shown = terminal.type("status", "-p", root).out
    assert "Oldest update" in shown
    assert "1,234" in shown
    tables = {table["name"]: table for table in terminal.type("status", "-p", root, "--json").json["tables"]}
    assert tables["quotes"]["superseded"] == 1_234
    assert tables["quotes"]["update_staleness"] > 100.0
    answer = terminal.type("freshness", "-p", root)
    assert answer.code == 1
    assert "broken (its oldest pending update)" in answer.out


def test_without_update_tables_there_are_no_columns_for_them(terminal: Terminal, tmp_path: Path) -> None:
    shown = terminal.type("status", "-p", str(write_project(tmp_path / "plain"))).out
    assert "Oldest update" not in shown
    assert "Superseded" not in shown


def test_a_plan_counts_the_rows_that_wait_and_promises_update_tables_nothing(terminal: Terminal, market: Shop) -> None:
    waits(market, -1.0)
    planned = {
        table["name"]: table
        for table in terminal.type("plan", "-p", str(market.project.root), "--scheduler", "adaptive", "--json").json[
            "tables"
        ]
    }
    assert planned["quotes"]["why"] == "3 rows wait"
    assert planned["newest_orders"]["why"] == "no update waits"
    assert {planned[name]["promise"]["verdict"] for name in ("quotes", "board")} == {"no guarantee"}
    assert planned["quotes"]["promise"]["reason"] == (
        "'quotes' is an update table: how long updates wait for it has no bound"
    )


def test_a_prediction_leaves_update_tables_out_and_says_so(terminal: Terminal, market: Shop) -> None:
    told = terminal.type("simulate", "-p", str(market.project.root), "--tracks", "1", "--scheduler", "fifo").out
    assert "Left out, for they are update tables or views of them: quotes, newest_orders, board." in told


def test_feeds_and_doctor_take_a_project_with_a_socket(terminal: Terminal, market: Shop) -> None:
    assert "ticks" in terminal.type("feeds", "-p", str(market.project.root)).out
    health = feed_healths(market.project, market.catalog, NOON, run_going_on=True)["ticks"]
    assert (health.healthy, health.reason) == (None, "it brings single rows, in no rhythm")
    checked = terminal.type("doctor", "-p", str(market.project.root)).out
    assert "Feed 'orders_feed'" in checked
    assert "Feed 'ticks'" not in checked, "it has no folder that could be unreadable"
