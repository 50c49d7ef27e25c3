"""As-of joins by a subquery for each row: LATERAL with ORDER BY and LIMIT 1, or a single value.

Spark joins the distinct times of the outer rows with all rows of the right side up to these, takes the latest of each
key and time, and joins the outer rows with that by key and time. That the times are those of the outer rows is told by
the number of their column: a table that is named twice in a query has other numbers each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from py4j.java_gateway import JavaObject
from pyspark.sql import Column, functions

from freshtide.spark.incremental.asof import (
    KINDS,
    AsOfJoin,
    bound_of,
    condition_of,
    conjuncts,
    equality_of,
    ids_of,
    is_latest_first,
    takes_first,
    within,
)
from freshtide.spark.incremental.plans import Attribute, Plans, kind_of, listed

_ABOVE = {"Project", "Filter", "Window", "WindowGroupLimit", "Sort", "Aggregate"}


class _Other(Exception):  # noqa: N818 - it is nobody's error
    """It is another kind of join: the rules for its parts hold."""


def for_each_row(plans: Plans, join: JavaObject) -> tuple[JavaObject, AsOfJoin] | None:
    """The outer rows joined with versions; None where it is another join."""
    try:
        return _with_versions(plans, join) if plans.join_kind(join) in KINDS else None
    except _Other:
        return None


def _with_versions(plans: Plans, join: JavaObject) -> tuple[JavaObject, AsOfJoin]:
    kind, subquery, outer = plans.join_kind(join), _Subquery(plans, join.right()), ids_of(join.left())
    rows = subquery.inner.right()
    _require(subquery.moment in outer and not outer & ids_of(rows))
    keys, others, meets = [], [*subquery.conditions], False
    for condition in condition_of(join):
        key = equality_of(plans, condition, outer, ids_of(join.right()))
        if kind_of(condition) == "EqualNullSafe" and subquery.is_of_the_same_time(condition):
            meets = True
        elif key is not None and plans.attribute_id(subquery.told(key[1])) in subquery.by:
            keys.append((key[0], subquery.told(key[1])))
        else:
            others.append(subquery.told(condition))
    by = {subquery.time, *(plans.attribute_id(key) for _, key in keys)}
    _require(meets and bool(keys) and by == subquery.by and (not others or kind == "Inner"))
    found = AsOfJoin(keys=tuple(keys), moment=subquery.own, changed=subquery.changed, is_strict=subquery.is_strict)
    done = found.joined(plans, join.left(), rows, kind=kind, ties=subquery.ties)._jdf.queryExecution().analyzed()
    for condition in others:
        done = plans.filtered(subquery.of_outer_time(condition), done)
    columns = [
        plans.column(one) if Attribute(one).id in outer else subquery.value(one) for one in listed(join.output())
    ]
    selected = plans.plain_frame(done).select(*columns)._jdf.queryExecution().analyzed()
    pairs = zip(listed(selected.output()), listed(join.output()), strict=True)
    return plans.project([plans.alias(have, Attribute(want)) for have, want in pairs], selected), found


class _Subquery:
    """What a subquery gives for each outer row, followed from its join of times and rows upwards."""

    def __init__(self, plans: Plans, plan: JavaObject) -> None:
        self._plans = plans
        nodes: list[JavaObject] = []
        while kind_of(plan) in _ABOVE:
            nodes.append(plan)
            plan = plan.child()
        self.inner = plan
        self.own, time = self._times()
        """The time of the outer rows."""
        self.moment, self.time = Attribute(self.own).id, Attribute(time).id
        self._rows = ids_of(plan.right())
        conditions = condition_of(plan)
        bound = bound_of(plans, conditions[0], {self.time}, self._rows) if len(conditions) == 1 else None
        if bound is None or plans.attribute_id(bound[0]) != self.time:
            raise _Other
        _, self.changed, self.is_strict = bound
        self._values = {Attribute(one).id: one for one in listed(plan.output())}
        """Its columns as expressions of the rows and of the time."""
        self._order: Sequence[JavaObject] = ()
        self._needed: set[int | None] = set()
        """What has to be there before the latest is taken."""
        self.by: set[int | None] = set()
        """Of each of their values the latest row is taken."""
        self.ties: list[JavaObject] = []
        self.conditions: list[JavaObject] = []
        """What is asked of the latest row."""
        for node in reversed(nodes):
            self._go_up(node)
        # That there is a key and a time follows from their being equal, and one being up to the other.
        _require(bool(self.by) and self._needed <= {*self.by, plans.attribute_id(self.changed)})
        told = chain(self._values.values(), self.conditions)
        _require(all(within(one, {*self._rows, self.time}) for one in told))
        _require(all(within(one, self._rows) for one in self.ties))

    def told(self, expression: JavaObject) -> JavaObject:
        """An expression of its columns by rows and time."""
        return self._plans.rewritten(expression, lambda part: self._values.get(self._plans.attribute_id(part) or -1))

    def of_outer_time(self, expression: JavaObject) -> JavaObject:
        """The same by the time of the outer row, which it is."""
        return self._plans.rewritten(
            expression, lambda part: self.own if self._plans.attribute_id(part) == self.time else None
        )

    def value(self, column: JavaObject) -> Column:
        """One of its columns beside outer rows; where there is no latest row, there is nothing."""
        told = self._values[Attribute(column).id]
        if self._plans.attribute_id(told) in self._rows:
            return self._plans.column(told)
        is_met = self._plans.column(self.changed).isNotNull()
        return functions.when(is_met, self._plans.column(self.of_outer_time(told)))

    def is_of_the_same_time(self, condition: JavaObject) -> bool:
        return {self._id(condition.left()), self._id(condition.right())} == {self.moment, self.time}

    def _times(self) -> tuple[JavaObject, JavaObject]:
        """The time of the outer rows, and what it is called among their distinct times."""
        if kind_of(self.inner) != "Join" or self._plans.join_kind(self.inner) != "Inner":
            raise _Other
        times = self.inner.left()
        if kind_of(times) != "Aggregate" or times.groupingExpressions().size() != 1 or times.output().size() != 1:
            raise _Other
        own, alias = times.groupingExpressions().head(), times.aggregateExpressions().head()
        is_renamed = kind_of(alias) == "Alias" and self._plans.attribute_id(alias.child()) is not None
        if self._plans.attribute_id(own) is None or not is_renamed:
            raise _Other
        _require(self._plans.attribute_id(alias.child()) == self._plans.attribute_id(own))
        return own, alias.toAttribute()

    def _go_up(self, node: JavaObject) -> None:
        kind = kind_of(node)
        match kind:
            case "Project":
                self._values = self._projected(listed(node.projectList()))
            case "Filter":
                self._ask(node)
            case "Aggregate":
                _require(not self.by)
                grouping = [self._id(one) for one in listed(node.groupingExpressions())]
                _require(None not in grouping)
                self._values = self._projected(listed(node.aggregateExpressions()))
                self.by = set(grouping)
            case "Sort":
                self._order = self._order if self.by else [self.told(one) for one in listed(node.order())]
            case _:
                # What a window numbers, and Spark leaves out before that, is told by the condition above.
                _require(not self.by)

    def _ask(self, node: JavaObject) -> None:
        asked, window = conjuncts(node.condition()), node.child()
        if kind_of(window) == "Window" and not self.by:
            _require(len(asked) == 1 and takes_first(self._plans, asked[0], window))
            order = [self.told(one) for one in listed(window.orderSpec())] or self._order
            _require(bool(order) and is_latest_first(self._plans, order[0], self.changed))
            self.by = {self._id(one) for one in listed(window.partitionSpec())}
            self.ties = list(order[1:])
        elif self.by:
            self.conditions += map(self.told, asked)
        else:
            _require(all(kind_of(one) == "IsNotNull" for one in asked))
            self._needed |= {self._id(one.child()) for one in asked}

    def _projected(self, expressions: Sequence[JavaObject]) -> dict[int, JavaObject]:
        found = {}
        for one in expressions:
            expression = one.child() if kind_of(one) == "Alias" else one
            found[int(one.exprId().id())] = self.told(self._plans.rewritten(expression, self._of_latest))
        return found

    def _of_latest(self, expression: JavaObject) -> JavaObject | None:
        """What a function of all rows up to the time gives of the latest."""
        if kind_of(expression) != "AggregateExpression":
            return None
        function = expression.aggregateFunction()
        arguments = listed(function.children())
        _require(not expression.isDistinct() and expression.filter().isEmpty())
        _require(kind_of(function) in {"Max", "MaxBy"} and self._id(arguments[-1]) == Attribute(self.changed).id)
        return arguments[0]

    def _id(self, expression: JavaObject) -> int | None:
        """The number of the column of rows or times that an expression of its columns is."""
        return self._plans.attribute_id(self.told(expression))


def _require(holds: bool) -> None:
    if not holds:
        raise _Other
