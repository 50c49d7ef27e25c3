"""What Spark has made of a query, put in a form that there are rules for.

Of a subquery that gives a single value, that is put beside each row, as a join does it. Where the value changes, any
row may be another one: all has to be computed then. Where it does not, rows are followed as if it was written in the
query.
"""

from __future__ import annotations

from collections.abc import Mapping

from py4j.java_gateway import JavaObject

from freshtide.spark.incremental.operators import NotIncrementalError
from freshtide.spark.incremental.plans import Attribute, Plans, kind_of, listed


def with_rules(plans: Plans, plan: JavaObject) -> JavaObject:
    """The same rows by operators that are known."""
    return _rewritten(plans, plan, {})


def _rewritten(plans: Plans, plan: JavaObject, shared: Mapping[int, JavaObject]) -> JavaObject:
    """`shared` are parts that several places of the plan refer to, by their numbers."""
    if kind_of(plan) == "WithCTE":
        # Spark computes subqueries of the same rows together.
        known = dict(shared)
        for part in listed(plan.cteDefs()):
            known[int(part.id())] = _rewritten(plans, part.child(), known)
        return _rewritten(plans, plan.plan(), known)
    if kind_of(plan) == "CTERelationRef":
        found = shared[int(plan.cteId())]
        pairs = zip(listed(found.output()), listed(plan.output()), strict=True)
        return plans.project([plans.alias(have, Attribute(want)) for have, want in pairs], found)
    children = listed(plan.children())
    if children:
        plan = plans.over(plan, *(_rewritten(plans, child, shared) for child in children))
    if kind_of(plan) == "Generate":
        return plans.generated(plan)
    if not any(plans.has_subquery(expression) for expression in listed(plan.expressions())):
        return plan
    return _joined(plans, plan, shared)


def _joined(plans: Plans, plan: JavaObject, shared: Mapping[int, JavaObject]) -> JavaObject:
    """One operator whose expressions have subqueries, over rows that have their values."""
    beside: list[JavaObject] = []

    def exchange(expression: JavaObject) -> JavaObject | None:
        if not kind_of(expression).endswith("Subquery"):
            return None
        below = _rewritten(plans, expression.plan(), shared) if kind_of(expression) == "ScalarSubquery" else None
        if below is None or below.maxRows().isEmpty() or int(below.maxRows().get()) > 1:
            raise NotIncrementalError("a subquery in an expression, unless it gives a single value in any case")
        # Its own number: what it is made of may stand elsewhere in the query, too.
        value = plans.named(below.output().head(), "single")
        beside.append(plans.project([value], below))
        return value.toAttribute()

    kind = kind_of(plan)
    if kind not in {"Filter", "Project"}:
        raise NotIncrementalError(f"a subquery that gives a single value within {_WORDS.get(kind, 'such an operator')}")
    own = [plan.condition()] if kind == "Filter" else listed(plan.projectList())
    rewritten = [plans.rewritten(expression, exchange) for expression in own]
    rows = plan.child()
    for value in beside:
        rows = plans.beside(rows, value)
    if kind == "Project":
        return plans.project(rewritten, rows)
    return plans.project(listed(plan.output()), plans.filtered(rewritten[0], rows))


_WORDS = {"Join": "the condition of a join", "Aggregate": "GROUP BY", "Window": "a window function"}
"""What users call an operator."""
