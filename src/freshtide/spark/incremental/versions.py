"""The plan of a query with its as-of joins as joins with versions."""

from __future__ import annotations

from py4j.java_gateway import JavaObject

from freshtide.spark.incremental.correlated import for_each_row
from freshtide.spark.incremental.numbered import by_numbers
from freshtide.spark.incremental.operators import NotIncrementalError
from freshtide.spark.incremental.plans import Plans, kind_of, listed

_LOST_ORDER = "LIMIT in a subquery for each row, which does not select what it orders by"


def with_versions(plans: Plans, plan: JavaObject) -> tuple[JavaObject, tuple[str, ...]]:
    """The same rows, and in words which as-of joins were found."""
    found: list[str] = []
    plan = _rewritten(plans, plan, found)
    _refuse_lost_order(plan)
    return plan, tuple(found)


def _rewritten(plans: Plans, plan: JavaObject, found: list[str]) -> JavaObject:
    children = listed(plan.children())
    if children:
        plan = plans.over(plan, *(_rewritten(plans, child, found) for child in children))
    rules = {"Join": for_each_row, "Filter": by_numbers}
    rule = rules.get(kind_of(plan))
    matched = None if rule is None else rule(plans, plan)
    if matched is None:
        return plan
    rewritten, join = matched
    found.append(join.told)
    return rewritten


def _refuse_lost_order(plan: JavaObject) -> None:
    """Spark may number ordered rows without an order. Rows are not ordered here: which comes first would be chance."""
    if kind_of(plan) == "Window" and plan.orderSpec().isEmpty():
        below = plan.child()
        while kind_of(below) in {"Project", "Filter"}:
            below = below.child()
        if kind_of(below) == "Sort":
            raise NotIncrementalError(_LOST_ORDER)
    for child in listed(plan.children()):
        _refuse_lost_order(child)
