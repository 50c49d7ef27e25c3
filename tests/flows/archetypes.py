"""The archetypes of ETL flows (Karagiannis et al. 2013, section 7), and the flow of figure 1."""

from __future__ import annotations

from freshtide.flows import Flow


def butterfly() -> Flow:
    """Figure 1: two lines into the warehouse, a join of both, and views by successive aggregation."""
    flow = Flow("part_suppliers")
    parts = flow.read(table="partsupp", name="partsupp").not_null("ps_partkey", name="parts_not_null")
    costs = parts.expression(total_cost="ps_supplycost * ps_availqty", name="total_cost")
    costs.write(table="dw_partsupp", name="dw_partsupp")
    suppliers = flow.read(table="supplier", name="supplier").not_null("s_suppkey", name="suppliers_not_null")
    phones = suppliers.expression(s_phone="replace(s_phone, '-', '')", name="phone_format")
    phones.write(table="dw_supplier", name="dw_supplier")
    joined = costs.join(phones, on="s_suppkey", method="sort-merge", name="join")
    joined.write(table="dw_join", name="dw_join")
    rows = joined
    for number, by in enumerate((["nation", "part"], ["nation"], ["region"], []), start=1):
        rows = rows.aggregate(by=by, total_cost="sum(total_cost)", name=f"aggregate{number}")
        rows.write(table=f"view{number}", name=f"view{number}")
    return flow


def line() -> Flow:
    flow = Flow("line")
    rows = flow.read(table="a", name="a").filter("x > 0", name="b").not_null("x", name="c")
    rows.expression(y="x * 2", name="d").write(table="e", name="e")
    return flow


def wishbone() -> Flow:
    flow = Flow("wishbone")
    left = flow.read(table="a", name="a").filter("x > 0", name="b")
    right = flow.read(table="c", name="c").filter("x > 0", name="d")
    left.join(right, on="x", method="sort-merge", name="e").write(table="f", name="f")
    return flow


def primary_flow() -> Flow:
    """A line that looks up one surrogate key after another."""
    flow = Flow("primary_flow")
    rows = flow.read(table="a", name="a")
    for name in ("b", "c", "d"):
        rows = rows.surrogate_key(f"{name}_key", column=f"{name}_id", lookup=f"{name}_ids", name=name)
    rows.write(table="e", name="e")
    return flow


def tree() -> Flow:
    flow = Flow("tree")
    first = flow.read(table="a", name="a").union(flow.read(table="b", name="b"), name="c")
    second = flow.read(table="d", name="d").sort("x", name="e")
    first.join(second, on="x", name="f").write(table="g", name="g")
    return flow


def fork() -> Flow:
    flow = Flow("fork")
    routes = flow.read(table="a", name="a").filter("x > 0", name="b").route(low="x < 9", high="x >= 9", name="c")
    routes.low.expression(y="1", name="d").write(table="e", name="e")
    routes.high.aggregate(n="count(*)", name="f").write(table="g", name="g")
    return flow


ARCHETYPES = {flow().name: flow for flow in (butterfly, line, wishbone, primary_flow, tree, fork)}
