"""Nexmark's auctions: persons, auctions and bids of a seeded generator, and those of its queries that are views.

Of 50 events one is a new person, three are new auctions and 46 are bids, as in Nexmark, and most bids are for auctions
and by persons of late. Query 10 writes files, and query 12 counts by the time of processing: neither is a view. Query 6
asks for the last ten of each seller, by a window function.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.moving import Batch, Declared, Suite

_BEGINNING = 1_700_000_000_000_000
_BETWEEN = 20_000
"""Microseconds from one event to the next."""
_OPEN = 120_000_000
"""Microseconds that an auction is open for at most."""
_SHARE = 1_000
_ROUND = np.array([0] + [1] * 3 + [2] * 46)
_STATES = np.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
_CITIES = np.array(["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle"])
_CHANNELS = np.array(["Google", "Facebook", "Baidu", "Apple", "channel-1", "channel-2"])
_TIME = pa.timestamp("us", tz="UTC")
_TABLES = (
    Declared(
        name="person",
        schema={"id": "bigint", "name": "string", "city": "string", "state": "string", "date_time": "timestamp"},
        time_column="date_time",
    ),
    Declared(
        name="auction",
        schema={
            "id": "bigint",
            "item_name": "string",
            "initial_bid": "bigint",
            "reserve": "bigint",
            "date_time": "timestamp",
            "expires": "timestamp",
            "seller": "bigint",
            "category": "bigint",
        },
        time_column="date_time",
    ),
    Declared(
        name="bid",
        schema={
            "auction": "bigint",
            "bidder": "bigint",
            "price": "bigint",
            "channel": "string",
            "url": "string",
            "date_time": "timestamp",
        },
        time_column="date_time",
    ),
)
_WINNING = """
    SELECT a.id, a.seller, a.category, a.expires, b.price, b.bidder, b.date_time AS bid_at,
        row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.bidder) AS place
    FROM auction a JOIN bid b ON a.id = b.auction
    WHERE b.date_time BETWEEN a.date_time AND a.expires"""
_QUERIES = {
    "n0": "SELECT auction, bidder, price, date_time FROM bid",
    "n1": "SELECT auction, bidder, price * 908 AS price, date_time FROM bid",
    "n2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "n3": """
SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "n4": """
SELECT category, avg(final) AS price FROM (
    SELECT max(b.price) AS final, a.category FROM auction a JOIN bid b ON a.id = b.auction
    WHERE b.date_time BETWEEN a.date_time AND a.expires GROUP BY a.id, a.category) AS q
GROUP BY category""",
    "n5": """
SELECT auction, number, starts FROM (
    SELECT auction, starts, number, rank() OVER (PARTITION BY starts ORDER BY number DESC) AS place FROM (
        SELECT auction, window.start AS starts, count(*) AS number
        FROM bid GROUP BY auction, window(date_time, '10 seconds', '2 seconds')) AS counted) AS ranked
WHERE place = 1""",
    "n6": f"""
SELECT seller, avg(price) AS price FROM (
    SELECT seller, price, row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) AS recent
    FROM ({_WINNING}) AS w WHERE place = 1) AS r
WHERE recent <= 10 GROUP BY seller""",
    "n7": """
SELECT b.auction, b.price, b.bidder, b.date_time FROM bid b JOIN (
    SELECT max(price) AS price, date_trunc('minute', date_time) AS minute FROM bid GROUP BY 2) AS m
ON b.price = m.price AND date_trunc('minute', b.date_time) = m.minute""",
    "n8": """
SELECT p.id, p.name, p.minute FROM (
    SELECT id, name, date_trunc('minute', date_time) AS minute FROM person GROUP BY 1, 2, 3) AS p JOIN (
    SELECT seller, date_trunc('minute', date_time) AS minute FROM auction GROUP BY 1, 2) AS a
ON p.id = a.seller AND p.minute = a.minute""",
    "n9": f"SELECT id, seller, category, price, bidder, bid_at FROM ({_WINNING}) AS w WHERE place = 1",
    "n11": """
SELECT bidder, count(*) AS bids, min(date_time) AS starts
FROM bid GROUP BY bidder, session_window(date_time, '10 seconds')""",
    "n14": """
SELECT auction, bidder, 0.908 * price AS price,
    CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'day' ELSE 'night' END AS part_of_day, date_time
FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "n15": """
SELECT CAST(date_time AS date) AS day, count(*) AS bids,
    count(CASE WHEN price < 10000 THEN 1 END) AS low, count(CASE WHEN price >= 1000000 THEN 1 END) AS high,
    count(DISTINCT bidder) AS bidders, count(DISTINCT auction) AS auctions
FROM bid GROUP BY CAST(date_time AS date)""",
    "n16": """
SELECT channel, CAST(date_time AS date) AS day, max(date_time) AS latest, count(*) AS bids,
    count(DISTINCT bidder) AS bidders
FROM bid GROUP BY channel, CAST(date_time AS date)""",
    "n17": """
SELECT auction, CAST(date_time AS date) AS day, count(*) AS bids, min(price) AS lowest, max(price) AS highest,
    avg(price) AS average, sum(price) AS total
FROM bid GROUP BY auction, CAST(date_time AS date)""",
    "n18": """
SELECT auction, bidder, price, date_time FROM (
    SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC, price DESC) AS place
    FROM bid) AS b
WHERE place = 1""",
    "n19": """
SELECT auction, bidder, price, date_time, place FROM (
    SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time, bidder) AS place
    FROM bid) AS b
WHERE place <= 10""",
    "n20": """
SELECT b.auction, b.bidder, b.price, b.channel, b.date_time, a.item_name, a.seller
FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10""",
    "n21": """
SELECT auction, bidder, price, channel,
    CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1'
        WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3' ELSE '4' END AS channel_id
FROM bid WHERE lower(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    "n22": """
SELECT auction, bidder, price, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2 FROM bid""",
    "n23": """
SELECT b.auction, b.bidder, b.price, b.date_time, a.item_name, p.name
FROM bid b JOIN person p ON b.bidder = p.id JOIN auction a ON a.seller = p.id""",
}
_PEER = {
    "n5": """
WITH slid AS (
    SELECT auction, date_time,
        unnest(range(0, 5)) AS back, epoch_us(date_time) // 2000000 AS slot FROM bid),
counted AS (
    SELECT auction, make_timestamptz((slot - back) * 2000000) AS starts, count(*) AS number FROM slid GROUP BY 1, 2)
SELECT auction, number, starts FROM counted QUALIFY rank() OVER (PARTITION BY starts ORDER BY number DESC) = 1""",
    "n11": """
WITH marked AS (
    SELECT bidder, date_time, CASE WHEN date_time < lag(date_time)
        OVER (PARTITION BY bidder ORDER BY date_time) + INTERVAL 10 SECOND THEN 0 ELSE 1 END AS begins FROM bid),
numbered AS (
    SELECT bidder, date_time, sum(begins) OVER (PARTITION BY bidder ORDER BY date_time) AS number FROM marked)
SELECT bidder, count(*) AS bids, min(date_time) AS starts FROM numbered GROUP BY bidder, number""",
}


def nexmark(events: int) -> Suite:
    """Nexmark with so many events at first; each batch has a thousandth of that."""
    return Suite(
        name=f"Nexmark with {events:,} events",
        tables=_TABLES,
        queries=_QUERIES,
        batches=lambda folder, number: _batches(events, folder, number),
        most=1_000_000,
        peer=_PEER,
    )


def _batches(events: int, folder: Path, number: int) -> Iterator[Batch]:
    rng = np.random.default_rng(17)
    each = max(len(_ROUND), events // _SHARE // len(_ROUND) * len(_ROUND))
    first = 0
    for at in range(number + 1):
        count = events // len(_ROUND) * len(_ROUND) if at == 0 else each
        tables = _events(rng, first, count)
        first += count
        place = folder / str(at)
        place.mkdir(parents=True)
        files = {}
        for name, table in tables.items():
            files[name] = place / f"{name}.parquet"
            pq.write_table(table, files[name])
        yield Batch(files=files, stamp=(_BEGINNING + (first - 1) * _BETWEEN) / 1e6)


def _events(rng: np.random.Generator, first: int, count: int) -> dict[str, pa.Table]:
    """Events from a number on. The last of each kind carry the last time: all tables have come to it then."""
    numbers = np.arange(first, first + count)
    kinds = _ROUND[numbers % len(_ROUND)]
    times = _BEGINNING + numbers * _BETWEEN
    for kind in range(3):
        times[np.flatnonzero(kinds == kind)[-1]] = _BEGINNING + (first + count - 1) * _BETWEEN
    persons, auctions, bids = (kinds == kind for kind in range(3))
    rounds = numbers // len(_ROUND)
    return {
        "person": _persons(rng, rounds[persons], times[persons]),
        "auction": _auctions(rng, rounds[auctions] * 3 + numbers[auctions] % len(_ROUND) - 1, times[auctions]),
        "bid": _bids(rng, rounds[bids], times[bids]),
    }


def _persons(rng: np.random.Generator, ids: np.ndarray, times: np.ndarray) -> pa.Table:
    return pa.table(
        {
            "id": ids,
            "name": [f"person {number}" for number in ids],
            "city": _CITIES[rng.integers(len(_CITIES), size=len(ids))],
            "state": _STATES[rng.integers(len(_STATES), size=len(ids))],
            "date_time": pa.array(times, _TIME),
        }
    )


def _auctions(rng: np.random.Generator, ids: np.ndarray, times: np.ndarray) -> pa.Table:
    initial = _prices(rng, len(ids))
    return pa.table(
        {
            "id": ids,
            "item_name": [f"item {number}" for number in ids],
            "initial_bid": initial,
            "reserve": initial + _prices(rng, len(ids)),
            "date_time": pa.array(times, _TIME),
            "expires": pa.array(times + rng.integers(1_000_000, _OPEN, size=len(ids)), _TIME),
            "seller": _recent(rng, ids // 3, 1_000),
            "category": rng.integers(10, 15, size=len(ids)),
        }
    )


def _bids(rng: np.random.Generator, rounds: np.ndarray, times: np.ndarray) -> pa.Table:
    auctions = _recent(rng, rounds * 3, 300)
    return pa.table(
        {
            "auction": auctions,
            "bidder": _recent(rng, rounds, 1_000),
            "price": _prices(rng, len(rounds)),
            "channel": _CHANNELS[rng.integers(len(_CHANNELS), size=len(rounds))],
            "url": [f"https://www.nexmark.com/{auction % 7}/{auction}/item.htm" for auction in auctions],
            "date_time": pa.array(times, _TIME),
        }
    )


def _recent(rng: np.random.Generator, newest: np.ndarray, among: int) -> np.ndarray:
    """Numbers up to the newest, most of them among those of late."""
    back = rng.integers(0, among, size=len(newest))
    return np.maximum(newest - back, 0)


def _prices(rng: np.random.Generator, number: int) -> np.ndarray:
    return np.round(10.0 ** (rng.random(number) * 6.0) * 100.0).astype(np.int64)
