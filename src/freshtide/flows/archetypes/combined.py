"""Multiple lines with a tree, a butterfly and forks: the three workflows of figure 12.

The paper gives how many lines there are and how long they are; what they compute is ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from freshtide.flows.archetypes.sources import source
from freshtide.flows.builder import Flow, Rows


def lines_tree(data: str, *, into: Flow | None = None) -> Flow:
    """Extraction: five joins, three long and two short lines before them and one short line behind."""
    flow = into or Flow("lines_tree")
    rows = _items(flow, data)
    for number, (key, others) in enumerate(
        (
            ("orderkey", _orders(flow, data)),
            ("custkey", _customers(flow, data)),
            ("partkey", _parts(flow, data)),
            ("suppkey", _suppliers(flow, data)),
            ("nationkey", source(flow, data, "nation").only(nationkey="n_nationkey", nation="n_name", name="nations")),
        ),
        start=1,
    ):
        rows = rows.join(others, on=key, name=f"join{number}")
    margins = rows.expression(margin="revenue - tax", name="margins").filter("margin > 0", name="profitable")
    labelled = margins.expression(market="concat(nation, '/', segment)", name="markets")
    labelled.only(
        "orderkey",
        "custkey",
        "partkey",
        "suppkey",
        "market",
        "brand",
        "supplier",
        "order_year",
        "margin",
        name="wanted",
    ).write(table="lines_tree_items", name="dw_items")
    return flow


def _items(flow: Flow, data: str) -> Rows:
    """A long line: 8 operations."""
    checked = source(flow, data, "lineitem").not_null("l_orderkey", "l_partkey", "l_suppkey", name="items_not_null")
    rows = checked.filter("l_quantity >= 5", name="bulk").filter("l_returnflag <> 'R'", name="not_returned")
    rows = rows.expression(revenue="l_extendedprice * (1 - l_discount)", name="revenue")
    rows = rows.expression(tax="revenue * l_tax", name="tax").expression(mode="lower(l_shipmode)", name="mode")
    rows = rows.filter("mode <> 'reg air'", name="by_mode")
    return rows.only(
        "revenue", "tax", orderkey="l_orderkey", partkey="l_partkey", suppkey="l_suppkey", name="item_columns"
    )


def _orders(flow: Flow, data: str) -> Rows:
    """A long line: 8 operations."""
    checked = source(flow, data, "orders").not_null("o_custkey", name="orders_not_null")
    rows = checked.filter("o_totalprice >= 1000", name="worthwhile").filter("o_orderstatus <> 'P'", name="settled")
    rows = rows.expression(order_year="year(o_orderdate)", name="years")
    rows = rows.expression(quarter="quarter(o_orderdate)", name="quarters").filter("order_year > 1992", name="recent")
    rows = rows.expression(priority="substring(o_orderpriority, 1, 1)", name="priorities")
    return rows.only("order_year", orderkey="o_orderkey", custkey="o_custkey", name="order_columns")


def _customers(flow: Flow, data: str) -> Rows:
    """A long line: 8 operations."""
    checked = source(flow, data, "customer").not_null("c_nationkey", name="customers_not_null")
    rows = checked.filter("c_acctbal > -900", name="solvent").expression(segment="lower(c_mktsegment)", name="segments")
    rows = rows.expression(c_phone="replace(c_phone, '-', ' ')", name="phones")
    rows = rows.expression(country="substring(c_phone, 1, 2)", name="countries").filter("country > '10'", name="abroad")
    rows = rows.expression(c_name="upper(c_name)", name="customer_names")
    return rows.only("segment", custkey="c_custkey", nationkey="c_nationkey", name="customer_columns")


def _parts(flow: Flow, data: str) -> Rows:
    """A short line: 4 operations."""
    rows = source(flow, data, "part").filter("p_size > 2", name="sizeable")
    rows = rows.expression(brand="replace(p_brand, 'Brand#', '')", name="brands")
    return rows.expression(p_type="lower(p_type)", name="types").only("brand", partkey="p_partkey", name="part_columns")


def _suppliers(flow: Flow, data: str) -> Rows:
    """A short line: 4 operations."""
    rows = source(flow, data, "supplier").filter("s_acctbal > -900", name="sound")
    rows = rows.expression(supplier="upper(s_name)", name="supplier_names")
    rows = rows.expression(s_phone="replace(s_phone, '-', ' ')", name="supplier_phones")
    return rows.only("supplier", suppkey="s_suppkey", name="supplier_columns")


def lines_butterfly(data: str, *, into: Flow | None = None) -> Flow:
    """Cleansing: a sorted union and two blocking aggregations, with two lines before and one behind each."""
    flow = into or Flow("lines_butterfly")
    sold = source(flow, data, "lineitem").not_null("l_partkey", "l_suppkey", name="items_not_null")
    sold_rows = sold.filter("l_quantity > 1", name="bulk").expression(
        comment="regexp_replace(lower(l_comment), '[^a-z]+', ' ')", name="item_comments"
    )
    sold_rows = sold_rows.expression(mark="sha2(comment, 256)", name="item_marks")
    items = sold_rows.only(
        partkey="l_partkey", suppkey="l_suppkey", amount="l_extendedprice", mark="substring(mark, 1, 8)", name="items"
    )
    held = source(flow, data, "partsupp").not_null("ps_partkey", "ps_suppkey", name="stocks_not_null")
    held_rows = held.filter("ps_availqty > 0", name="in_stock").expression(
        comment="regexp_replace(lower(ps_comment), '[^a-z]+', ' ')", name="stock_comments"
    )
    held_rows = held_rows.expression(mark="sha2(comment, 256)", name="stock_marks")
    stocks = held_rows.only(
        partkey="ps_partkey", suppkey="ps_suppkey", amount="ps_supplycost", mark="substring(mark, 1, 8)", name="stocks"
    )
    together = items.sorted_union(stocks, by=["partkey", "suppkey"], name="together")
    together.write(table="lines_butterfly_rows", name="dw_rows")
    _totals_line(together, "part", "partkey")
    _totals_line(together, "supplier", "suppkey")
    return flow


def _totals_line(rows: Rows, what: str, key: str) -> None:
    """An aggregation with a line of 4 operations behind it."""
    totals = rows.aggregate(rows="count(*)", total="sum(amount)", least="min(mark)", by=key, name=f"by_{what}")
    labelled = totals.expression(label=f"upper(concat('{what}-', {key}))", name=f"{what}_labels")
    marked = labelled.expression(mark="sha2(concat(label, least), 256)", name=f"{what}_marks")
    kept = marked.filter("rows > 1", name=f"{what}_several").only(
        key, "label", "mark", "rows", "total", name=f"{what}_columns"
    )
    kept.write(table=f"lines_butterfly_{what}s", name=f"{what}s")


def lines_fork(data: str, *, into: Flow | None = None) -> Flow:
    """Loading: three forks to 2, 3 and 6 targets, with a line before each fork and one before each target."""
    flow = into or Flow("lines_fork")
    customers = source(flow, data, "customer").not_null("c_nationkey", name="customers_not_null")
    accounts = customers.expression(phone="replace(c_phone, '-', ' ')", name="phones").only(
        custkey="c_custkey", amount="c_acctbal", label="c_mktsegment", name="accounts"
    )
    _fan_out(accounts, "accounts", "custkey", {"debtors": "amount < 0", "creditors": "amount >= 0"})
    parts = source(flow, data, "part").not_null("p_size", name="parts_not_null")
    products = parts.expression(brand="lower(p_brand)", name="brands").only(
        partkey="p_partkey", amount="p_retailprice", label="brand", size="p_size", name="products"
    )
    sizes = {"small": "size < 10", "medium": "size >= 10 AND size < 30", "large": "size >= 30"}
    _fan_out(products, "products", "partkey", sizes)
    orders = source(flow, data, "orders").not_null("o_custkey", name="orders_not_null")
    sales = orders.expression(priority="substring(o_orderpriority, 1, 1)", name="priorities").only(
        orderkey="o_orderkey", amount="o_totalprice", label="o_clerk", priority="priority", name="sales"
    )
    routes = {f"priority{each}": f"priority = '{each}' AND amount >= 1000" for each in range(1, 6)}
    _fan_out(sales, "sales", "orderkey", routes | {"small_sales": "amount < 1000"})
    return flow


def _fan_out(rows: Rows, what: str, key: str, routes: Mapping[str, str]) -> None:
    """A router, and a line of 3 operations to each target."""
    routed = rows.route(routes, name=f"route_{what}")
    for route in routes:
        named = routed[route].expression(target=f"'{route}'", name=f"{route}_named")
        marked = named.expression(mark=f"md5(concat(label, {key}))", name=f"{route}_marked")
        marked.only(key, "amount", "target", "mark", name=f"{route}_columns").write(
            table=f"lines_fork_{route}", name=route
        )
