"""Update tables that are declared wrongly: each mistake with its place and the way out."""

from __future__ import annotations

import pytest

from .folder import ProjectFolder
from .ticks import IN_WINDOWS, QUOTES, TICKS, VIEW, WINDOWS


def problem(folder: ProjectFolder, sql: str) -> str:
    folder.write("tables/a.sql", sql)
    return folder.problem()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "'update_key' = 'smbol'",
            "2: The update key 'smbol' of 'quotes' is no column of the feed 'ticks'. Did you mean 'symbol'?",
        ),
        ("'update_key' = 'symbol,symbol'", "3: 'update_key' names a column twice. Name each column once."),
        (
            "'update_key' = ''",
            "3: 'update_key' holds an empty name. Write names with commas between them, like 'region, day'.",
        ),
        (
            "'update_key' = 'symbol', 'key_order' = 'inplace'",
            "3: 'inplace' is not an order of keys. Did you mean 'in-place'? Known: fifo, in-place, linecutting.",
        ),
        (
            "'key_order' = 'fifo'",
            "3: 'key_order' says nothing without 'update_key'. "
            "Declare the columns of the key too, like 'update_key' = 'symbol', or take it out.",
        ),
        (
            "'window' = '5m'",
            "3: 'window' says nothing without 'update_key'. "
            "Declare the columns of the key too, like 'update_key' = 'symbol', or take it out.",
        ),
        (
            "'update_key' = 'symbol', 'slide' = '1m'",
            "3: 'slide' says nothing without 'window'. Declare the size of the windows too, or take it out.",
        ),
        (
            "'update_key' = 'symbol', 'windows' = 'lazy'",
            "3: 'windows' says nothing without 'window'. Declare the size of the windows too, or take it out.",
        ),
        (
            "'update_key' = 'symbol', 'window' = '5m', 'slide' = '0s'",
            "3: Windows that slide by zero never move on. Write by how much, like 1m.",
        ),
        (
            "'update_key' = 'symbol', 'window' = '0s'",
            "3: 'window' must be longer than 0s, not '0s'. Write it like 90s, 5m, 1h30m or '15 minutes'.",
        ),
        (
            "'update_key' = 'symbol', 'window' = '5m', 'slide' = '10m'",
            "3: Windows of 5m that slide by 10m leave rows between them out. Let them slide by at most 5m.",
        ),
        (
            "'update_key' = 'symbol', 'window' = '5m', 'windows' = 'early'",
            "3: 'early' is not a way to commit to windows. Did you mean 'eager'? Known: eager, lazy.",
        ),
        (
            "'update_key' = 'symbol', 'update_group' = 'g'",
            "2: 'quotes' cannot have both 'update_key' and 'update_group': the tables of a group load the same rows "
            "together. Take one of them out.",
        ),
        (
            "'update_key' = 'symbol', 'partition_by' = 'venue'",
            "2: 'quotes' cannot have both 'update_key' and 'partition_by': its rows are replaced by key. "
            "Take one of them out.",
        ),
        (
            "'update_key' = 'symbol', 'maintain' = 'append'",
            "2: 'maintain' is for materialized views, and 'quotes' is a streaming table. Take it out.",
        ),
        (
            "'priority' = '2'",
            "2: The streaming table 'quotes' appends the files of a feed, but 'ticks' brings single rows. "
            "Declare 'update_key', so that each row supersedes the one before it, or let it bring files.",
        ),
    ],
)
def test_a_wrong_setting_is_told_with_its_line_and_a_way_out(ticks: ProjectFolder, said: str, told: str) -> None:
    sql = f"\nCREATE STREAMING TABLE quotes TBLPROPERTIES (\n{said})\nAS SELECT * FROM STREAM ticks;"
    assert problem(ticks, sql) == f"tables/a.sql:{told}"


def test_a_table_that_a_flow_loads_cannot_be_an_update_table(ticks: ProjectFolder) -> None:
    ticks.write(
        "flows/f.yml",
        "activities:\n  ticks: {kind: source, read: ticks}\n  out: {kind: target, from: ticks, write: quotes}\n",
    )
    ticks.write("tables/a.sql", QUOTES.replace("'symbol'", "'symbol', 'flow' = 'f'"))
    assert (
        "tables/a.sql:1: 'quotes' cannot have both 'update_key' and 'flow': a flow takes every row. "
        "Take one of them out." in map(str, ticks.problems())
    )


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "SELECT ts, price FROM STREAM ticks",
            "The streaming table 'quotes' does not keep its key 'symbol': it does not put 'symbol' out.",
        ),
        (
            "SELECT ts, upper(symbol) AS symbol FROM STREAM ticks",
            "The streaming table 'quotes' does not keep its key 'symbol': its column 'symbol' is not that of its "
            "source as it is.",
        ),
        (
            "SELECT ts, CAST(symbol AS timestamp) AS symbol FROM STREAM ticks",
            "The streaming table 'quotes' does not keep its key 'symbol': its column 'symbol' is not that of its "
            "source as it is.",
        ),
        (
            "SELECT ts, date_trunc('microsecond', symbol) AS symbol FROM STREAM ticks",
            "The streaming table 'quotes' does not keep its key 'symbol': its column 'symbol' is not that of its "
            "source as it is.",
        ),
        (
            "SELECT ts, venue AS symbol FROM STREAM ticks",
            "The streaming table 'quotes' does not keep its key 'symbol': its column 'symbol' is not that of its "
            "source as it is.",
        ),
    ],
)
def test_a_query_that_loses_the_key_is_refused(ticks: ProjectFolder, query: str, told: str) -> None:
    sql = f"CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key' = 'symbol') AS {query};"
    way_out = "Select symbol as it is, and group and join by it."
    assert problem(ticks, sql) == f"tables/a.sql:1: {told} {way_out}"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "SELECT symbol, price FROM STREAM ticks",
            "does not pass on the feed's time column 'ts'. Add ts to the SELECT as it is; it may be renamed with AS.",
        ),
        ("SELECT DISTINCT ts, symbol FROM STREAM ticks", "does not work row by row"),
        ("SELECT ts, symbol, explode(array(1, 2)) AS n FROM STREAM ticks", "makes several rows of one with explode"),
    ],
)
def test_without_windows_the_query_works_row_by_row(ticks: ProjectFolder, query: str, told: str) -> None:
    sql = f"CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key' = 'symbol') AS {query};"
    assert f"The streaming table 'quotes' {told}" in problem(ticks, sql)


@pytest.mark.parametrize("keys", ["symbol", f"{IN_WINDOWS}, venue", "ALL", "symbol, window_start, ts"])
def test_a_windowed_query_groups_by_just_the_key_and_the_window(ticks: ProjectFolder, keys: str) -> None:
    assert problem(ticks, WINDOWS.format("", keys)) == (
        "tables/a.sql:1: 'quotes' puts out one row per key and window, so its query must group by just these. "
        "Write GROUP BY symbol, window_start, window_end."
    )


def test_a_windowed_query_puts_its_window_out(ticks: ProjectFolder) -> None:
    sql = WINDOWS.format("", IN_WINDOWS).replace("window_end, avg", "avg")
    assert problem(ticks, sql) == (
        "tables/a.sql:1: The streaming table 'quotes' does not keep its key 'window_end': it does not put "
        "'window_end' out. Select window_end as it is, and group and join by it."
    )


def test_a_windowed_table_has_no_other_time_column(ticks: ProjectFolder) -> None:
    assert problem(ticks, WINDOWS.format(", 'time_column' = 'ts'", IN_WINDOWS)) == (
        "tables/a.sql:1: The time column of 'quotes' is window_end: a row of it stands for a window. "
        "Take 'time_column' out."
    )


def test_a_feed_with_a_column_called_like_a_window_is_refused_with_windows(empty: ProjectFolder) -> None:
    empty.write("feeds/ticks.yml", TICKS.replace("venue", "Window_End"))
    assert problem(empty, WINDOWS.format("", IN_WINDOWS)) == (
        "tables/a.sql:1: The feed 'ticks' has a column 'Window_End', and with 'window' Freshtide adds one of that "
        "name. Rename it in the schema of the feed."
    )


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "SELECT q.symbol, q.ts FROM quotes q JOIN offers o ON q.ts = o.ts",
            "The materialized view 'v' does not keep its key 'symbol': 'o' and 'q' are joined without equating their "
            "key columns. Select symbol as it is, and group and join by it.",
        ),
        (
            "SELECT symbol, ts FROM quotes LIMIT 3",
            "The materialized view 'v' does not keep its key 'symbol': LIMIT picks rows out of all rows. Select "
            "symbol as it is, and group and join by it.",
        ),
        (
            "SELECT symbol, price FROM quotes",
            "It cannot be told which row of a key in 'v' is the youngest: no output column carries the time of a "
            "source. Select the time column of a source, or greatest() of several, or declare 'time_column'.",
        ),
        (
            "SELECT *, now() AS seen FROM quotes",
            "The materialized view 'v' uses now(): its result would change without its sources changing. Use a "
            "column instead; a streaming table may use it, once for each row that arrives.",
        ),
    ],
)
def test_a_view_whose_rows_hang_on_other_keys_or_have_no_age_is_refused(
    quotes: ProjectFolder, query: str, told: str
) -> None:
    found = problem(quotes, f"{VIEW}{query};")
    assert found.replace("'q' and 'o'", "'o' and 'q'") == f"tables/a.sql:1: {told}"


def test_a_view_by_key_over_an_append_table_is_refused(cpu: ProjectFolder) -> None:
    sql = "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_key' = 'router') AS SELECT * FROM cpu;"
    assert problem(cpu, sql) == (
        "tables/a.sql:1: 'v' has an 'update_key', but its source 'cpu' is no update table. "
        "Take 'update_key' out, or declare it on 'cpu' too."
    )


def test_a_view_by_a_column_that_its_source_may_change_is_refused(quotes: ProjectFolder) -> None:
    sql = f"{VIEW}SELECT * FROM quotes;".replace("'symbol'", "'venue'")
    assert problem(quotes, sql) == (
        "tables/a.sql:1: The update key 'venue' of 'v' is no column of the update key of 'quotes'. Known: symbol."
    )


@pytest.mark.parametrize("said", ["'key_order' = 'fifo'", "'window' = '5m'"])
def test_what_is_said_of_a_queue_is_for_streaming_tables(quotes: ProjectFolder, said: str) -> None:
    key = said.partition("'")[2].partition("'")[0]
    assert problem(quotes, f"{VIEW}SELECT * FROM quotes;".replace("'symbol'", f"'symbol', {said}")) == (
        f"tables/a.sql:1: '{key}' is for streaming tables, and 'v' is a materialized view. Take it out."
    )


def test_latest_is_asked_for_by_its_key(quotes: ProjectFolder) -> None:
    sql = "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('maintain' = 'latest') AS SELECT * FROM quotes;"
    assert problem(quotes, sql) == (
        "tables/a.sql:1: The view 'v' cannot keep the newest row of each key: it does not say what the key is. "
        "Declare 'update_key' instead of 'maintain'."
    )


def test_a_view_of_an_update_table_cannot_be_appended_to(quotes: ProjectFolder) -> None:
    sql = "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('maintain' = 'append') AS SELECT * FROM quotes;"
    assert "no row of its source 'quotes' is ever final" in problem(quotes, sql)
