"""The archetypes that are no butterfly (Karagiannis et al. 2013, section 7.1 and figure 7)."""

from __future__ import annotations

from freshtide.flows.archetypes.sources import soiled, source
from freshtide.flows.builder import Flow, Rows


def line(data: str, *, into: Flow | None = None) -> Flow:
    """Filters, transformations and an aggregation over one table, on the way to one target."""
    flow = into or Flow("line")
    orders = source(flow, data, "orders").filter("o_totalprice >= 1000", name="worthwhile")
    checked = orders.not_null("o_custkey", name="with_customer")
    years = checked.only("o_custkey", "o_totalprice", order_year="year(o_orderdate)", name="years")
    totals = years.aggregate(
        orders="count(*)", total="sum(o_totalprice)", by=["o_custkey", "order_year"], name="totals"
    )
    totals.filter("orders > 1", name="regulars").write(table="line_customer_years", name="customer_years")
    return flow


def wishbone(data: str, *, into: Flow | None = None) -> Flow:
    """Two lines that are joined into one."""
    flow = into or Flow("wishbone")
    customers = source(flow, data, "customer").filter("c_acctbal > 0", name="solvent")
    named = customers.only(
        custkey="c_custkey", customer="c_name", phone="replace(c_phone, '-', ' ')", name="phone_format"
    )
    orders = source(flow, data, "orders").filter("o_orderstatus <> 'P'", name="settled")
    dated = orders.only(
        orderkey="o_orderkey", custkey="o_custkey", price="o_totalprice", order_year="year(o_orderdate)", name="years"
    )
    dated.join(named, on="custkey", method="sort-merge", name="join").write(table="wishbone_orders", name="dw_orders")
    return flow


def primary_flow(data: str, *, selectivity: float = 1.0, into: Flow | None = None) -> Flow:
    """One surrogate key after another.

    With a selectivity below 1 only that share of the orders has a customer; the others go into quarantine.
    """
    flow = into or Flow("primary_flow")
    orders = soiled(source(flow, data, "orders"), "o_custkey", selectivity=selectivity, name="soiled_orders")
    checked = orders.not_null("o_custkey", name="with_customer")
    checked.quarantine.write(table="primary_flow_quarantine", name="quarantine")
    rows: Rows = checked.only(
        "o_orderkey", "o_custkey", "o_clerk", "o_orderpriority", "o_orderstatus", "o_totalprice", name="wanted"
    )
    for what, key in (
        ("customer", "o_custkey"),
        ("clerk", "o_clerk"),
        ("priority", "o_orderpriority"),
        ("status", "o_orderstatus"),
    ):
        rows = rows.surrogate_key(key, column=f"{what}_sk", lookup=f"primary_flow_{what}_keys", name=f"{what}_key")
    rows.write(table="primary_flow_orders", name="dw_orders")
    return flow


def tree(data: str, *, into: Flow | None = None) -> Flow:
    """Source tables joined one after another, and an aggregation of the result."""
    flow = into or Flow("tree")
    orders = source(flow, data, "orders").only(
        custkey="o_custkey", price="o_totalprice", order_year="year(o_orderdate)", name="years"
    )
    customers = source(flow, data, "customer").only(
        custkey="c_custkey", nationkey="c_nationkey", segment="c_mktsegment", name="segments"
    )
    nations = source(flow, data, "nation").only(nationkey="n_nationkey", nation="n_name", name="names")
    placed = orders.join(customers, on="custkey", name="join_customer").join(
        nations, on="nationkey", name="join_nation"
    )
    totals = placed.aggregate(
        orders="count(*)", total="sum(price)", by=["nation", "segment", "order_year"], name="totals"
    )
    totals.write(table="tree_nation_years", name="nation_years")
    return flow


def fork(data: str, *, into: Flow | None = None) -> Flow:
    """A heavy right wing: a router, and different aggregations of what arrives in the warehouse."""
    flow = into or Flow("fork")
    checked = source(flow, data, "orders").not_null("o_custkey", name="with_customer")
    orders = checked.only(
        "o_custkey",
        "o_clerk",
        "o_orderpriority",
        "o_orderstatus",
        "o_totalprice",
        order_year="year(o_orderdate)",
        name="years",
    )
    orders.write(table="fork_orders", name="dw_orders")
    routes = orders.route(open="o_orderstatus = 'O'", finished="o_orderstatus = 'F'", name="by_status")
    for status in ("open", "finished"):
        for what, by in (
            ("customers", ["o_custkey"]),
            ("clerks", ["o_clerk", "order_year"]),
            ("priorities", ["o_orderpriority", "order_year"]),
        ):
            totals = routes[status].aggregate(
                orders="count(*)", total="sum(o_totalprice)", by=by, name=f"{status}_by_{what}"
            )
            totals.write(table=f"fork_{status}_{what}", name=f"{status}_{what}")
    routes.otherwise.write(table="fork_pending", name="pending")
    return flow
