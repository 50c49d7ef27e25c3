"""TPC-H as what arrives: all of a scale factor at first, then batches of new orders with their lines.

The rows are those of tpchgen-cli. A batch is about a thousandth of all orders, chosen by their keys, once more under
keys that TPC-H leaves free for new orders: of 32 keys in a row it uses the first eight. Orders and lines carry the
moment at which they came, because TPC-H has none. Customers, parts, suppliers and the like do not change: they are
reference data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from bench.moving import Batch, Declared, Suite, stamp_of
from bench.results import DATA
from bench.tpch_queries import tpch_queries
from freshtide.spark.experiments import tpch_data

_SHARES = 1_000
"""A batch is one of so many parts of all orders."""
_MONEY, _KEY, _TEXT = "decimal(15,2)", "bigint", "string"
_FACTS = {
    "orders": {
        "o_orderkey": _KEY,
        "o_custkey": _KEY,
        "o_orderstatus": _TEXT,
        "o_totalprice": _MONEY,
        "o_orderdate": "date",
        "o_orderpriority": _TEXT,
        "o_clerk": _TEXT,
        "o_shippriority": "int",
        "o_comment": _TEXT,
    },
    "lineitem": {
        "l_orderkey": _KEY,
        "l_partkey": _KEY,
        "l_suppkey": _KEY,
        "l_linenumber": "int",
        "l_quantity": _MONEY,
        "l_extendedprice": _MONEY,
        "l_discount": _MONEY,
        "l_tax": _MONEY,
        "l_returnflag": _TEXT,
        "l_linestatus": _TEXT,
        "l_shipdate": "date",
        "l_commitdate": "date",
        "l_receiptdate": "date",
        "l_shipinstruct": _TEXT,
        "l_shipmode": _TEXT,
        "l_comment": _TEXT,
    },
}
_DIMENSIONS = {
    "customer": {
        "c_custkey": _KEY,
        "c_name": _TEXT,
        "c_address": _TEXT,
        "c_nationkey": _KEY,
        "c_phone": _TEXT,
        "c_acctbal": _MONEY,
        "c_mktsegment": _TEXT,
        "c_comment": _TEXT,
    },
    "part": {
        "p_partkey": _KEY,
        "p_name": _TEXT,
        "p_mfgr": _TEXT,
        "p_brand": _TEXT,
        "p_type": _TEXT,
        "p_size": "int",
        "p_container": _TEXT,
        "p_retailprice": _MONEY,
        "p_comment": _TEXT,
    },
    "supplier": {
        "s_suppkey": _KEY,
        "s_name": _TEXT,
        "s_address": _TEXT,
        "s_nationkey": _KEY,
        "s_phone": _TEXT,
        "s_acctbal": _MONEY,
        "s_comment": _TEXT,
    },
    "partsupp": {
        "ps_partkey": _KEY,
        "ps_suppkey": _KEY,
        "ps_availqty": "int",
        "ps_supplycost": _MONEY,
        "ps_comment": _TEXT,
    },
    "nation": {"n_nationkey": _KEY, "n_name": _TEXT, "n_regionkey": _KEY, "n_comment": _TEXT},
    "region": {"r_regionkey": _KEY, "r_name": _TEXT, "r_comment": _TEXT},
}
_KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}


def tpch(scale: float) -> Suite:
    """TPC-H at a scale factor."""
    facts = [
        Declared(name=name, schema={**columns, "landed_at": "timestamp"}, time_column="landed_at")
        for name, columns in _FACTS.items()
    ]
    dimensions = [Declared(name=name, schema=columns) for name, columns in _DIMENSIONS.items()]
    return Suite(
        name=f"TPC-H at scale factor {scale:g}",
        tables=(*dimensions, *facts),
        queries=tpch_queries(scale),
        batches=lambda folder, number: _batches(scale, folder, number),
        most=_SHARES,
    )


def _batches(scale: float, folder: Path, number: int) -> Iterator[Batch]:
    data = tpch_data(scale, cache=DATA / "tpch")
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        files = {name: data / f"{name}.parquet" for name in _DIMENSIONS}
        for name in _FACTS:
            files[name] = _written(database, folder / "0" / f"{name}.parquet", f"FROM '{data}/{name}.parquet'", 0)
            # Any part of the keys would do that is spread over all of them.
            chosen = f"(hugeint '{2654435761}' * {_KEYS[name]} % 4294967296) % {_SHARES}"
            database.execute(
                f"CREATE TABLE new_{name} AS SELECT * REPLACE ({_KEYS[name]} + 8 AS {_KEYS[name]}), {chosen} AS batch "
                f"FROM '{data}/{name}.parquet' WHERE {chosen} < {number}"
            )
        yield Batch(files=files, stamp=stamp_of(0))
        for at in range(1, number + 1):
            rows = "SELECT * EXCLUDE (batch) FROM new_{} WHERE batch = {}"
            files = {
                name: _written(
                    database, folder / str(at) / f"{name}.parquet", f"FROM ({rows.format(name, at - 1)})", at
                )
                for name in _FACTS
            }
            yield Batch(files=files, stamp=stamp_of(at))


def _written(database: duckdb.DuckDBPyConnection, path: Path, rows: str, at: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    stamped = f"SELECT *, to_timestamp({stamp_of(at)}) AS landed_at {rows}"
    database.execute(f"COPY ({stamped}) TO '{path}' (FORMAT parquet)")
    return path
