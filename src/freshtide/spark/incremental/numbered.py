"""As-of joins by numbers: a join with all earlier rows of a key, of which `row_number() ... = 1` leaves the latest."""

from __future__ import annotations

from py4j.java_gateway import JavaObject

from freshtide.spark.incremental.asof import (
    KINDS,
    AsOfJoin,
    bound_of,
    condition_of,
    equality_of,
    ids_of,
    is_latest_first,
    takes_first,
    within,
)
from freshtide.spark.incremental.plans import Plans, kind_of, listed


def by_numbers(plans: Plans, plan: JavaObject) -> tuple[JavaObject, AsOfJoin] | None:
    """A condition on numbers with a join of versions below it; None where it is something else.

    Of each row of the left side only its latest partner can come first, so the others need not be made. That holds
    whatever columns of the left side the numbers are by: the numbers themselves stay. Columns that are computed between
    join and numbers are neither of the one side nor of the other.
    """
    window = plan.child()
    if kind_of(window) != "Window" or not takes_first(plans, plan.condition(), window):
        return None
    between: list[JavaObject] = [plan, window]
    join = window.child()
    while kind_of(join) in {"WindowGroupLimit", "Project"}:
        between.append(join)
        join = join.child()
    found = _as_of(plans, join)
    if found is None:
        return None
    left, right = ids_of(join.left()), ids_of(join.right())
    orders = listed(window.orderSpec())
    if not orders or not is_latest_first(plans, orders[0], found.changed):
        return None
    if not all(within(one, left) for one in listed(window.partitionSpec())):
        return None
    if not all(within(one, left) or within(one, right) for one in orders):
        return None
    ties = [one for one in orders[1:] if within(one, right)]
    frame = found.joined(plans, join.left(), join.right(), kind=plans.join_kind(join), ties=ties)
    done = plans.project(listed(join.output()), frame._jdf.queryExecution().analyzed())
    for node in reversed(between):
        done = plans.over(node, done)
    return done, found


def _as_of(plans: Plans, join: JavaObject) -> AsOfJoin | None:
    """A join by keys and by one bound on a time, and by nothing else."""
    if kind_of(join) != "Join" or plans.join_kind(join) not in KINDS:
        return None
    left, right = ids_of(join.left()), ids_of(join.right())
    keys, bounds = [], []
    for condition in condition_of(join):
        key, bound = equality_of(plans, condition, left, right), bound_of(plans, condition, left, right)
        if key is not None:
            keys.append(key)
        elif bound is not None:
            bounds.append(bound)
        else:
            return None
    if not keys or len(bounds) != 1 or left & right:
        return None
    ((moment, changed, is_strict),) = bounds
    return AsOfJoin(keys=tuple(keys), moment=moment, changed=changed, is_strict=is_strict)
