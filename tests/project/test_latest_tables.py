"""Update tables as they are declared, through the front door: what they become."""

from __future__ import annotations

import pytest

from freshtide.core.latest import KeyOrder, KeyWindows, LatestSemantics, WindowSemantics
from freshtide.core.tables import Maintenance, Table

from .folder import ProjectFolder
from .ticks import BY_VENUE, IN_WINDOWS, QUOTES, VIEW, WINDOWS


def declared(folder: ProjectFolder, sql: str, name: str = "quotes") -> Table:
    folder.write("tables/a.sql", sql)
    return folder.load().graph[name]


def test_an_update_key_makes_an_update_table_with_linecutting(ticks: ProjectFolder) -> None:
    table = declared(ticks, QUOTES)
    assert table.latest == LatestSemantics(key=("symbol",), order=KeyOrder.LINECUTTING)
    assert (table.maintain, table.time_column, table.feed) == (Maintenance.LATEST, "ts", "ticks")
    assert table.maintenance_reason == "the newest row of each symbol is kept"


@pytest.mark.parametrize("order", list(KeyOrder))
def test_every_order_of_keys_can_be_asked_for(ticks: ProjectFolder, order: KeyOrder) -> None:
    sql = QUOTES.replace("'symbol'", f"'symbol', 'key_order' = '{order.value.upper()}'")
    table = declared(ticks, sql)
    assert table.latest is not None
    assert table.latest.order is order


def test_a_key_of_several_columns_is_spelt_as_in_the_feed(ticks: ProjectFolder) -> None:
    table = declared(ticks, QUOTES.replace("'symbol'", "'SYMBOL , Venue'"))
    assert table.latest is not None
    assert table.latest.key == ("symbol", "venue")


def test_windows_tumble_and_are_lazy_unless_said_otherwise(ticks: ProjectFolder) -> None:
    table = declared(ticks, WINDOWS.format("", IN_WINDOWS))
    assert table.latest is not None
    assert table.latest.windows == KeyWindows(size=300.0, slide=300.0, semantics=WindowSemantics.LAZY)
    assert table.time_column == "window_end"
    table = declared(ticks, WINDOWS.format(", 'slide' = '90s', 'windows' = 'eager'", "1, window_end, window_start"))
    assert table.latest is not None
    assert table.latest.windows == KeyWindows(size=300.0, slide=90.0, semantics=WindowSemantics.EAGER)


def test_update_tables_can_be_written_in_python(empty: ProjectFolder) -> None:
    empty.write(
        "tables/all.py",
        """
        from freshtide.project import feed, materialized_view, table

        def prices():
            yield {"ts": "2026-05-01T12:00:00Z", "symbol": "ABC", "price": 1.0}

        feed("ticks", generator=prices, schema={"ts": "timestamp", "symbol": "string", "price": "double"},
             time_column="ts")

        @table(update_key="symbol", key_order="in-place", window="1m", slide="10s", windows="eager")
        def averages(ticks):
            return ticks

        @table(update_key=["symbol"])
        def quotes(ticks):
            return ticks

        @materialized_view(update_key="symbol")
        def board(quotes):
            return quotes
        """,
    )
    graph = empty.load().graph
    assert graph["averages"].latest == LatestSemantics(
        key=("symbol",),
        order=KeyOrder.IN_PLACE,
        windows=KeyWindows(size=60.0, slide=10.0, semantics=WindowSemantics.EAGER),
    )
    assert (graph["averages"].time_column, graph["quotes"].time_column) == ("window_end", "ts")
    assert (graph["board"].maintain, graph["board"].time_column) == (Maintenance.LATEST, "ts")
    assert graph["board"].latest == LatestSemantics(key=("symbol",))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ts, symbol, price * 2 AS twice FROM STREAM ticks WHERE price > 0",
        "SELECT t.ts AS at, t.symbol FROM STREAM ticks AS t",
        "SELECT * EXCEPT (venue) FROM STREAM ticks",
        "SELECT CAST(ts AS timestamp) AS ts, symbol, date_trunc('hour', ts) AS hour FROM STREAM ticks",
        "WITH dear AS (SELECT * FROM STREAM ticks WHERE price > 9) SELECT ts, symbol FROM dear",
    ],
)
def test_filters_and_maps_keep_the_key(ticks: ProjectFolder, query: str) -> None:
    sql = f"CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key' = 'symbol') AS {query};"
    assert declared(ticks, sql).maintain is Maintenance.LATEST


@pytest.mark.parametrize(
    ("query", "time_column"),
    [
        ("SELECT * FROM quotes WHERE price > 9", "ts"),
        ("SELECT symbol, ts AS at, price * 2 AS twice FROM quotes", "at"),
        ("SELECT * FROM quotes UNION ALL SELECT * FROM offers", "ts"),
        ("SELECT q.symbol, greatest(q.ts, o.ts) AS at FROM quotes q JOIN offers o ON q.symbol = o.symbol", "at"),
        ("SELECT q.symbol, q.ts, o.price FROM quotes q LEFT JOIN offers o USING (symbol)", "ts"),
        ("SELECT q.symbol, q.ts FROM quotes q, offers o WHERE q.symbol = o.symbol AND o.price > q.price", "ts"),
    ],
)
def test_views_by_key_filter_map_union_and_join(quotes: ProjectFolder, query: str, time_column: str) -> None:
    view = declared(quotes, f"{VIEW}{query};", "v")
    assert (view.maintain, view.time_column) == (Maintenance.LATEST, time_column)
    assert view.latest == LatestSemantics(key=("symbol",))


def test_a_view_may_keep_a_part_of_the_key_and_build_on_another_such_view(ticks: ProjectFolder) -> None:
    ticks.write("tables/quotes.sql", BY_VENUE.format("quotes"))
    ticks.write("tables/w.sql", VIEW.replace(" v ", " w ") + "SELECT * FROM v;")
    view = declared(ticks, f"{VIEW}SELECT symbol, ts, price FROM quotes;", "w")
    assert view.latest == LatestSemantics(key=("symbol",))


def test_a_view_of_windows_may_keep_the_newest_one_of_each_key(ticks: ProjectFolder) -> None:
    ticks.write("tables/quotes.sql", WINDOWS.format("", IN_WINDOWS))
    view = declared(ticks, f"{VIEW}SELECT symbol, window_end, price FROM quotes;", "v")
    assert (view.maintain, view.time_column) == (Maintenance.LATEST, "window_end")


def test_a_view_without_a_key_is_computed_in_full_because_the_past_is_gone(quotes: ProjectFolder) -> None:
    quotes.write(
        "tables/v.sql", "CREATE MATERIALIZED VIEW v AS SELECT date_trunc('hour', ts) AS h FROM quotes GROUP BY 1;"
    )
    project = quotes.load()
    assert project.graph["v"].maintain is Maintenance.FULL
    (note,) = project.notes
    assert str(note) == (
        "tables/v.sql:1: 'v' is computed in full or from changes, whichever takes less time: its source 'quotes' keeps "
        "only the newest row of each key, so its past is gone. Say maintain = 'full' or maintain = "
        "'incremental' if it is to be one of them."
    )
