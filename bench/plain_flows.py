"""The archetype flows written by hand for Spark: one query per target, over Parquet files.

They are what the flows are measured against, and what tests hold the rows of the flows against.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

_TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "supplier")
_SOILED = {"partsupp": "ps_partkey", "supplier": "s_suppkey", "orders": "o_custkey"}

_PARTSUPP = """
    SELECT ps_partkey AS partkey, ps_suppkey AS suppkey, ps_availqty AS available,
           ps_supplycost * ps_availqty AS total_cost
    FROM partsupp WHERE ps_partkey IS NOT NULL AND ps_suppkey IS NOT NULL"""
_SUPPLIER = """
    SELECT s_suppkey AS suppkey, s_name AS supplier, s_nationkey AS nationkey,
           concat('+', replace(s_phone, '-', ' ')) AS phone
    FROM supplier WHERE s_suppkey IS NOT NULL AND s_nationkey IS NOT NULL"""
_JOIN = f"SELECT * FROM ({_PARTSUPP}) JOIN ({_SUPPLIER}) USING (suppkey)"


def _view(*by: str) -> str:
    names = ", ".join(by)
    return f"SELECT {names}, sum(total_cost) AS total_cost, sum(available) AS available FROM ({_JOIN}) GROUP BY {names}"


_BUTTERFLY = {
    "butterfly_partsupp": _PARTSUPP,
    "butterfly_partsupp_quarantine": "SELECT * FROM partsupp WHERE ps_partkey IS NULL OR ps_suppkey IS NULL",
    "butterfly_supplier": _SUPPLIER,
    "butterfly_supplier_quarantine": "SELECT * FROM supplier WHERE s_suppkey IS NULL OR s_nationkey IS NULL",
    "butterfly_join": _JOIN,
    "butterfly_view1": _view("nationkey", "partkey"),
    "butterfly_view2": _view("partkey"),
    "butterfly_view3": _view("nationkey", "suppkey"),
    "butterfly_view4": _view("suppkey"),
}
_LINE = {
    "line_customer_years": """
        SELECT o_custkey, year(o_orderdate) AS order_year, count(*) AS orders, sum(o_totalprice) AS total
        FROM orders WHERE o_totalprice >= 1000 AND o_custkey IS NOT NULL
        GROUP BY o_custkey, year(o_orderdate) HAVING count(*) > 1"""
}
_WISHBONE = {
    "wishbone_orders": """
        SELECT o_custkey AS custkey, o_orderkey AS orderkey, o_totalprice AS price, year(o_orderdate) AS order_year,
               c_name AS customer, replace(c_phone, '-', ' ') AS phone
        FROM orders JOIN customer ON o_custkey = c_custkey WHERE o_orderstatus <> 'P' AND c_acctbal > 0"""
}
_PRIMARY_FLOW = {
    # With production keys: which surrogate key a row gets hangs on the order of the rows.
    "primary_flow_orders": """
        SELECT o_orderkey, o_custkey, o_clerk, o_orderpriority, o_orderstatus, o_totalprice
        FROM orders WHERE o_custkey IS NOT NULL""",
    "primary_flow_quarantine": "SELECT * FROM orders WHERE o_custkey IS NULL",
}
_TREE = {
    "tree_nation_years": """
        SELECT n_name AS nation, c_mktsegment AS segment, year(o_orderdate) AS order_year,
               count(*) AS orders, sum(o_totalprice) AS total
        FROM orders JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey
        GROUP BY ALL"""
}
_FORK_ORDERS = """
    SELECT o_custkey, o_clerk, o_orderpriority, o_orderstatus, o_totalprice, year(o_orderdate) AS order_year
    FROM orders WHERE o_custkey IS NOT NULL"""


def _fork_totals(status: str, *by: str) -> str:
    names = ", ".join(by)
    return f"""
        SELECT {names}, count(*) AS orders, sum(o_totalprice) AS total
        FROM ({_FORK_ORDERS}) WHERE o_orderstatus = '{status}' GROUP BY {names}"""


_FORK = {
    "fork_orders": _FORK_ORDERS,
    "fork_pending": f"SELECT * FROM ({_FORK_ORDERS}) WHERE o_orderstatus NOT IN ('O', 'F')",
} | {
    f"fork_{name}_{what}": _fork_totals(status, *by)
    for name, status in (("open", "O"), ("finished", "F"))
    for what, by in (
        ("customers", ("o_custkey",)),
        ("clerks", ("o_clerk", "order_year")),
        ("priorities", ("o_orderpriority", "order_year")),
    )
}
_LINES_TREE = {
    "lines_tree_items": """
        SELECT o_orderkey AS orderkey, o_custkey AS custkey, p_partkey AS partkey, s_suppkey AS suppkey,
               concat(n_name, '/', lower(c_mktsegment)) AS market, replace(p_brand, 'Brand#', '') AS brand,
               upper(s_name) AS supplier, year(o_orderdate) AS order_year,
               l_extendedprice * (1 - l_discount) - l_extendedprice * (1 - l_discount) * l_tax AS margin
        FROM lineitem
        JOIN orders ON l_orderkey = o_orderkey
        JOIN customer ON o_custkey = c_custkey
        JOIN part ON l_partkey = p_partkey
        JOIN supplier ON l_suppkey = s_suppkey
        JOIN nation ON c_nationkey = n_nationkey
        WHERE l_quantity >= 5 AND l_returnflag <> 'R' AND lower(l_shipmode) <> 'reg air'
          AND o_totalprice >= 1000 AND o_orderstatus <> 'P' AND year(o_orderdate) > 1992
          AND c_acctbal > -900 AND substring(replace(c_phone, '-', ' '), 1, 2) > '10'
          AND p_size > 2 AND s_acctbal > -900
          AND l_extendedprice * (1 - l_discount) - l_extendedprice * (1 - l_discount) * l_tax > 0"""
}


def _marked(comment: str) -> str:
    return f"substring(sha2(regexp_replace(lower({comment}), '[^a-z]+', ' '), 256), 1, 8) AS mark"


_BOTH = f"""
    SELECT l_partkey AS partkey, l_suppkey AS suppkey, l_extendedprice AS amount, {_marked("l_comment")}
    FROM lineitem WHERE l_quantity > 1 AND l_partkey IS NOT NULL AND l_suppkey IS NOT NULL
    UNION ALL
    SELECT ps_partkey, ps_suppkey, ps_supplycost, {_marked("ps_comment")}
    FROM partsupp WHERE ps_availqty > 0 AND ps_partkey IS NOT NULL AND ps_suppkey IS NOT NULL"""


def _both_totals(what: str, key: str) -> str:
    label = f"upper(concat('{what}-', {key}))"
    return f"""
        SELECT {key}, {label} AS label, sha2(concat({label}, min(mark)), 256) AS mark, count(*) AS rows,
               sum(amount) AS total
        FROM ({_BOTH}) GROUP BY {key} HAVING count(*) > 1"""


_LINES_BUTTERFLY = {
    "lines_butterfly_rows": f"{_BOTH} ORDER BY partkey, suppkey",
    "lines_butterfly_parts": _both_totals("part", "partkey"),
    "lines_butterfly_suppliers": _both_totals("supplier", "suppkey"),
}


def _forked(target: str, table: str, columns: tuple[str, str, str], condition: str) -> str:
    """Key, amount and label of the rows for which the condition holds."""
    key, amount, label = columns
    alias = key.partition("_")[2]
    return f"""
        SELECT {key} AS {alias}, {amount} AS amount, '{target}' AS target, md5(concat({label}, {key})) AS mark
        FROM {table} WHERE {condition}"""


_LINES_FORK = (
    {
        f"lines_fork_{target}": _forked(target, "customer", ("c_custkey", "c_acctbal", "c_mktsegment"), condition)
        for target, condition in {"debtors": "c_acctbal < 0", "creditors": "c_acctbal >= 0"}.items()
    }
    | {
        f"lines_fork_{target}": _forked(target, "part", ("p_partkey", "p_retailprice", "lower(p_brand)"), condition)
        for target, condition in {
            "small": "p_size < 10",
            "medium": "p_size >= 10 AND p_size < 30",
            "large": "p_size >= 30",
        }.items()
    }
    | {
        f"lines_fork_{target}": _forked(target, "orders", ("o_orderkey", "o_totalprice", "o_clerk"), condition)
        for target, condition in {
            "priority1": "o_orderpriority LIKE '1%' AND o_totalprice >= 1000",
            "priority2": "o_orderpriority LIKE '2%' AND o_totalprice >= 1000",
            "priority3": "o_orderpriority LIKE '3%' AND o_totalprice >= 1000",
            "priority4": "o_orderpriority LIKE '4%' AND o_totalprice >= 1000",
            "priority5": "o_orderpriority LIKE '5%' AND o_totalprice >= 1000",
            "small_sales": "o_totalprice < 1000",
        }.items()
    }
)

PLAIN: Mapping[str, Mapping[str, str]] = {
    "line": _LINE,
    "wishbone": _WISHBONE,
    "primary_flow": _PRIMARY_FLOW,
    "tree": _TREE,
    "fork": _FORK,
    "butterfly": _BUTTERFLY,
    "lines_tree": _LINES_TREE,
    "lines_butterfly": _LINES_BUTTERFLY,
    "lines_fork": _LINES_FORK,
}
"""Target and query, by flow."""


def name_sources(
    session: SparkSession, data: Path, *, tables: Iterable[str] = _TABLES, selectivity: float = 1.0
) -> None:
    """Let queries of the session find the tables of TPC-H; only this share of the rows has the keys of `_SOILED`."""
    for table in tables:
        frame = session.read.parquet(str(data / f"{table}.parquet"))
        if selectivity < 1.0 and table in _SOILED:
            key = F.col(_SOILED[table])
            frame = frame.withColumn(_SOILED[table], F.when(key % 100 < round(100 * selectivity), key))
        frame.createOrReplaceTempView(table)


def run_plain(session: SparkSession, data: Path, flow: str, folder: Path) -> None:
    """From the files of the sources to all targets of a flow, one after another, as Parquet files."""
    words = {word for query in PLAIN[flow].values() for word in re.findall(r"\w+", query)}
    name_sources(session, data, tables=[table for table in _TABLES if table in words])
    for target, query in PLAIN[flow].items():
        session.sql(query).write.mode("overwrite").option("compression", "zstd").parquet(str(folder / target))
