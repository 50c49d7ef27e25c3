"""The flow that the paper follows throughout: figure 1, and in detail appendix A."""

from __future__ import annotations

from freshtide.flows.archetypes.sources import soiled, source
from freshtide.flows.builder import Flow, Rows


def butterfly(data: str, *, selectivity: float = 1.0, into: Flow | None = None) -> Flow:
    """Two lines into the warehouse, a sort-merge join of both, and four views by successive aggregations.

    With a selectivity below 1 only that share of the rows of both sources has a key; the others go into quarantine.
    """
    flow = into or Flow("butterfly")
    costs = _part_suppliers(flow, data, selectivity)
    suppliers = _suppliers(flow, data, selectivity)
    joined = costs.join(suppliers, on="suppkey", method="sort-merge", name="join")
    joined.write(table="butterfly_join", name="dw_join")
    by_nation_and_part = _view(joined, 1, "nationkey", "partkey")
    _view(by_nation_and_part, 2, "partkey")
    by_nation_and_supplier = _view(joined, 3, "nationkey", "suppkey")
    _view(by_nation_and_supplier, 4, "suppkey")
    return flow


def _part_suppliers(flow: Flow, data: str, selectivity: float) -> Rows:
    rows = soiled(source(flow, data, "partsupp"), "ps_partkey", selectivity=selectivity, name="soiled_partsupp")
    checked = rows.not_null("ps_partkey", "ps_suppkey", name="parts_not_null")
    checked.quarantine.write(table="butterfly_partsupp_quarantine", name="partsupp_quarantine")
    costs = checked.only(
        partkey="ps_partkey",
        suppkey="ps_suppkey",
        available="ps_availqty",
        total_cost="ps_supplycost * ps_availqty",
        name="total_cost",
    )
    costs.write(table="butterfly_partsupp", name="dw_partsupp")
    return costs


def _suppliers(flow: Flow, data: str, selectivity: float) -> Rows:
    rows = soiled(source(flow, data, "supplier"), "s_suppkey", selectivity=selectivity, name="soiled_supplier")
    checked = rows.not_null("s_suppkey", "s_nationkey", name="suppliers_not_null")
    checked.quarantine.write(table="butterfly_supplier_quarantine", name="supplier_quarantine")
    phones = checked.only(
        suppkey="s_suppkey",
        supplier="s_name",
        nationkey="s_nationkey",
        phone="concat('+', replace(s_phone, '-', ' '))",
        name="phone_format",
    )
    phones.write(table="butterfly_supplier", name="dw_supplier")
    return phones


def _view(rows: Rows, number: int, *by: str) -> Rows:
    sums = {"total_cost": "sum(total_cost)", "available": "sum(available)"}
    totals = rows.aggregate(sums, by=by, name=f"aggregate{number}")
    totals.write(table=f"butterfly_view{number}", name=f"view{number}")
    return totals
