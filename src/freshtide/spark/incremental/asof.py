"""As-of joins: each row of the left side with the latest row of its key on the right, up to a time of its own.

People write them in several ways, and what Spark makes of these joins each row with all earlier ones, or all times of
the left side with all rows of the right, before it takes the latest. Here they become a join with versions: each row
of the right side holds from its own time up to that of the next one of its key. So a new row on the right concerns the
rows between it and the next one, and a new row on the left looks up its key.

Which joins these are is told by `numbered.py` (a join with all earlier rows, of which `row_number` leaves the latest)
and `correlated.py` (a subquery for each row).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame, Window, functions

from freshtide.spark.incremental.plans import Attribute, Plans, kind_of, listed

KINDS = {"Inner": "inner", "LeftOuter": "left"}
"""Joins that can be as-of joins, and what they are called."""
_NEXT = "__next"
_UP_TO = {"LessThanOrEqual": "GreaterThanOrEqual", "LessThan": "GreaterThan"}
_FROM = {mirrored: own for own, mirrored in _UP_TO.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOfJoin:
    """What is to be equal, and the time on the right that is to be the latest up to one on the left."""

    keys: tuple[tuple[JavaObject, JavaObject], ...]
    """Expressions of the left side, and columns of the right."""
    moment: JavaObject
    changed: JavaObject
    is_strict: bool
    """Whether the time on the right has to be before that on the left."""

    @property
    def told(self) -> str:
        by = ", ".join(str(right.name()) for _, right in self.keys)
        return f"of each {by} the latest {self.changed.name()} {'before' if self.is_strict else 'up to'} {_name(self)}"

    def joined(
        self, plans: Plans, left: JavaObject, right: JavaObject, *, kind: str, ties: Sequence[JavaObject]
    ) -> DataFrame:
        """The rows of the left side with their versions; columns keep their numbers.

        Of rows at the same time the first by `ties` holds. It is put last, so that those before it end as they begin:
        they are the latest at no time.
        """
        keys, changed = [plans.column(key) for _, key in self.keys], plans.column(self.changed)
        turns = Window.partitionBy(*keys).orderBy(changed.asc(), *(_turned_round(plans, one) for one in ties))
        rows = plans.plain_frame(right)
        versions = rows.select("*", functions.lead(changed).over(turns).alias(_NEXT))
        moment, ends = plans.column(self.moment), functions.col(_NEXT)
        begun = moment > changed if self.is_strict else moment >= changed
        lasts = ends.isNull() | (moment <= ends if self.is_strict else moment < ends)
        equal = [plans.column(own) == key for (own, _), key in zip(self.keys, keys, strict=True)]
        return plans.plain_frame(left).join(versions, reduce(Column.__and__, [*equal, begun, lasts]), KINDS[kind])


def _name(join: AsOfJoin) -> str:
    return str(join.moment.name()) if kind_of(join.moment) == "AttributeReference" else "a computed time"


def bound_of(
    plans: Plans, condition: JavaObject, left: set[int], right: set[int]
) -> tuple[JavaObject, JavaObject, bool] | None:
    """The time on the left, that on the right which is up to it, and whether it is before it; None: it is no bound."""
    kind = kind_of(condition)
    if kind in _UP_TO:
        changed, moment = condition.left(), condition.right()
    elif kind in _FROM:
        moment, changed = condition.left(), condition.right()
    else:
        return None
    if plans.attribute_id(changed) not in right or not within(moment, left):
        return None
    return moment, changed, kind in {"LessThan", "GreaterThan"}


def equality_of(
    plans: Plans, condition: JavaObject, left: set[int], right: set[int]
) -> tuple[JavaObject, JavaObject] | None:
    """An expression of the left side and the column of the right that must equal it; None: it says something else."""
    if kind_of(condition) != "EqualTo":
        return None
    for own, other in ((condition.left(), condition.right()), (condition.right(), condition.left())):
        if plans.attribute_id(other) in right and within(own, left):
            return own, other
    return None


def conjuncts(condition: JavaObject) -> list[JavaObject]:
    if kind_of(condition) == "And":
        return [*conjuncts(condition.left()), *conjuncts(condition.right())]
    return [condition]


def condition_of(join: JavaObject) -> list[JavaObject]:
    """What is asked of two rows that meet."""
    found = join.condition()
    return [] if found.isEmpty() else conjuncts(found.get())


def is_latest_first(plans: Plans, order: JavaObject, changed: JavaObject) -> bool:
    return plans.attribute_id(order.child()) == plans.attribute_id(changed) and _descends(order)


def takes_first(plans: Plans, condition: JavaObject, window: JavaObject) -> bool:
    """Whether a condition lets only rows with the number 1 pass, which a window gives them and nothing else."""
    functions_of = listed(window.windowExpressions())
    if len(functions_of) != 1 or kind_of(functions_of[0].child().windowFunction()) != "RowNumber":
        return False
    number = int(functions_of[0].exprId().id())
    most = {"EqualTo": "1", "LessThanOrEqual": "1", "LessThan": "2"}
    return any(
        kind_of(one) in most
        and plans.attribute_id(one.left()) == number
        and str(one.right().toString()) == most[kind_of(one)]
        for one in conjuncts(condition)
    )


def within(expression: JavaObject, ids: set[int]) -> bool:
    """Whether an expression is made of some columns and of no others, and of one at least."""
    found = {int(one.exprId().id()) for one in listed(expression.references().toSeq())}
    return bool(found) and found <= ids


def ids_of(plan: JavaObject) -> set[int]:
    return {Attribute(one).id for one in listed(plan.output())}


def _descends(order: JavaObject) -> bool:
    return kind_of(order.direction()) == "Descending"


def _turned_round(plans: Plans, order: JavaObject) -> Column:
    value = plans.column(order.child())
    nulls_come_first = kind_of(order.nullOrdering()) == "NullsFirst"
    if _descends(order):
        return value.asc_nulls_last() if nulls_come_first else value.asc_nulls_first()
    return value.desc_nulls_last() if nulls_come_first else value.desc_nulls_first()
