"""A feed of ticks, and update tables over it as users write them."""

from __future__ import annotations

TICKS = """\
listen: localhost:9009
schema: {ts: timestamp, symbol: string, venue: string, price: double}
time_column: ts
"""
QUOTES = "CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key' = 'symbol')\nAS SELECT * FROM STREAM ticks;"
BY_VENUE = "CREATE STREAMING TABLE {} TBLPROPERTIES ('update_key' = 'symbol, venue') AS SELECT * FROM STREAM ticks;"
WINDOWS = (
    "CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key' = 'symbol', 'window' = '5m'{})\nAS SELECT symbol, "
    "window_start, window_end, avg(price) AS price FROM STREAM ticks GROUP BY {};"
)
IN_WINDOWS = "symbol, window_start, window_end"
VIEW = "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('update_key' = 'symbol')\nAS "
