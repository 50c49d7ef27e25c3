"""GROUP BY: figures of each group are kept, and what has come or gone is added or taken off."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame, functions

from freshtide.spark.incremental.functions import (
    Function,
    argument_column,
    buffer_attributes,
    filter_column,
    function_of,
)
from freshtide.spark.incremental.operators import (
    Keys,
    NotIncrementalError,
    Operator,
    When,
    key_column,
    pushed,
    restricted,
)
from freshtide.spark.incremental.plans import SIGN, Attribute, Plans, column, columns, kind_of, listed, signed
from freshtide.spark.incremental.running import Run

_ROWS = "n"
"""How many rows a group has: without any, it is gone."""
_UNDONE = "undone"


class Aggregate:
    """Groups, and what functions make of them. What is kept: `c0`, `c1`, ... the group, its rows, its figures."""

    def __init__(self, plans: Plans, plan: JavaObject, child: Operator, place: int) -> None:
        self.place = place
        self._child = child
        self._below: Sequence[Attribute] = plans.output(plan.child())
        # Of fixed values Spark leaves one where nothing else is grouped by: rows are one group then, or none.
        grouping = [one for one in listed(plan.groupingExpressions()) if not one.foldable()]
        self._grouping = [_grouping(plans, expression) for expression in grouping]
        self._is_there_without_rows = plan.groupingExpressions().isEmpty()
        ids = {attribute.id: at for at, attribute in enumerate(self._below)}
        self._key_places = tuple(ids[attribute.id] for attribute in self._grouping)
        self._functions: list[Function] = []
        found: dict[str, int] = {}

        def exchange(expression: JavaObject) -> JavaObject | None:
            if kind_of(expression) != "AggregateExpression":
                return None
            known = str(expression.canonicalized().toString())
            if known not in found:
                found[known] = len(self._functions)
                self._functions.append(function_of(expression, len(self._functions)))
            function = self._functions[found[known]]
            own = function.java
            return own.resultAttribute() if function.value is not None else own.aggregateFunction().evaluateExpression()

        self._results = [plans.rewritten(result, exchange) for result in listed(plan.aggregateExpressions())]
        self.width = len(self._results)
        self.kept = [attribute.java for attribute in self._grouping] + [one.java for one in self._functions]
        """Expressions of what is kept, for their types."""
        groups = {attribute.id: at for at, attribute in enumerate(self._grouping)}
        self._passes = _passed(plans, self._results, groups)

    def changes(self, run: Run) -> DataFrame | None:
        exchanged = self._brought_forward(run)
        return None if exchanged is None else self._result(run, exchanged, with_sign=True)

    def state(self, run: Run, when: When, keys: Keys | None = None) -> DataFrame:
        groups = pushed(keys, self._passes)
        if when is When.AFTER:
            self.prepare(run)
        kept = run.states.rows(self.place, when, groups)
        frame = self._result(run, kept)
        return frame if groups is not None else restricted(frame, keys)

    def prepare(self, run: Run) -> None:
        """See to it that what is kept is what it will be."""
        if run.states.is_begun(self.place):
            return
        if run.states.builds_anew:
            rows = self._rows(run, signed(self._child.state(run, When.AFTER), 1))
            run.states.build(self.place, self._figures(run, rows), key_width=len(self._grouping))
        else:
            self._brought_forward(run)

    def _brought_forward(self, run: Run) -> DataFrame | None:
        """What is kept of the groups that have changed, as it was and as it is, with signs; None where none has."""
        if run.states.is_begun(self.place):
            return run.states.exchanged(self.place)
        below = self._child.changes(run)
        gathered = None if below is None else self._gathered(run, self._rows(run, below))
        values = pa.table({}) if gathered is None else run.collected(gathered)
        if gathered is None or not values.num_rows:
            run.states.leave(self.place)
            return None
        groups = columns(len(self._grouping))
        keys = run.keys(values.select(groups).rename_columns([key_column(at) for at in range(len(groups))]))
        old = run.states.taken(self.place, keys)
        anew = self._anew(values)
        parts: list[DataFrame] = []
        if pc.any(pc.invert(anew)).as_py():
            parts.append(self._merged(run.at_hand(values.filter(pc.invert(anew)), gathered.schema), old))
        if pc.any(anew).as_py():
            parts.append(self._computed(run, values.filter(anew)))
        new = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
        return run.states.replace(self.place, keys, new)

    def _anew(self, values: pa.Table) -> pa.Array:
        """Which groups cannot be told by what is kept of them and what has changed."""
        if not all(function.merges for function in self._functions):
            return pa.array([True] * values.num_rows)
        if all(function.undoes for function in self._functions):
            return pa.array([False] * values.num_rows)
        return values.column(_UNDONE).combine_chunks()

    def _merged(self, new: DataFrame, old: DataFrame) -> DataFrame:
        groups = columns(len(self._grouping))
        # Groups are compared as GROUP BY does it: those without a value are one.
        on = [functions.col(f"old.{name}").eqNullSafe(functions.col(f"new.{name}")) for name in groups] or [
            functions.lit(True)
        ]
        joined = new.alias("new").join(old.alias("old"), on, "left")
        rows = f"coalesce(old.{_ROWS}, 0L) + new.{_ROWS} AS {_ROWS}"
        figures = [f"{buffer.merged} AS {buffer.name}" for function in self._functions for buffer in function.buffers]
        merged = joined.selectExpr(*(f"new.{name}" for name in groups), rows, *figures)
        return merged.where(f"{_ROWS} > 0") if groups else merged

    def _computed(self, run: Run, values: pa.Table) -> DataFrame:
        """The figures of some groups from all their rows."""
        groups = columns(len(self._grouping))
        keys = run.keys(values.select(groups).rename_columns([key_column(at) for at in range(len(groups))]))
        rows = self._child.state(run, When.AFTER, keys.at(self._key_places))
        return self._figures(run, self._rows(run, signed(rows, 1)))

    def _rows(self, run: Run, frame: DataFrame) -> DataFrame:
        """Of rows with a sign, their groups and what functions look at."""
        plans = run.plans
        own = [plans.named(attribute.java, column(at)) for at, attribute in enumerate(self._grouping)]
        for place, function in enumerate(self._functions):
            arguments, condition = _asked_by(function, place)
            given = listed(function.java.aggregateFunction().children())
            own += [plans.named(argument, name) for argument, name in zip(given, arguments, strict=True)]
            if condition is not None:
                own.append(plans.named(function.java.filter().get(), condition))
        own.append(plans.named(run.sign.java, SIGN))
        return plans.plain_frame(plans.project(own, plans.bound(frame, self._below, run.sign)))

    def _gathered(self, run: Run, rows: DataFrame) -> DataFrame:
        """What the rows of a change say about each group."""
        merging = [function for function in self._functions if function.merges]
        figures = [functions.expr(f"{b.gathered} AS {b.name}") for function in merging for b in function.buffers]
        undone = functions.expr(f"coalesce(min({SIGN}) < 0, false) AS {_UNDONE}")
        return run.plans.grouped(rows, len(self._grouping), [_number_of_rows(), undone, *figures])

    def _figures(self, run: Run, rows: DataFrame) -> DataFrame:
        """What is kept of groups, from all their rows."""
        figures = [_number_of_rows()]
        for place, function in enumerate(self._functions):
            if function.merges:
                figures += [functions.expr(f"{buffer.gathered} AS {buffer.name}") for buffer in function.buffers]
            else:
                own = run.plans.by_names(function.java, rows, *_asked_by(function, place))
                figures.append(own.alias(function.names[0]))
        return run.plans.grouped(rows, len(self._grouping), figures)

    def _result(self, run: Run, kept: DataFrame, *, with_sign: bool = False) -> DataFrame:
        """The rows of the operator, from what is kept of groups."""
        plans, groups = run.plans, columns(len(self._grouping))
        values: list[str] = []
        attributes = list(self._grouping)
        for place, function in enumerate(self._functions):
            if function.value is not None:
                values.append(f"{function.value} AS v{place}")
                attributes.append(Attribute(function.java.resultAttribute()))
            else:
                # They are never missing, but where there is no group Spark tries the function with nothing at all.
                values += [f"coalesce({name}, 0) AS v{place}_{name}" for name in function.names]
                attributes += [Attribute(java) for java in buffer_attributes(function)]
        if not self._is_there_without_rows and not groups:
            kept = kept.where(f"{_ROWS} > 0")
        sign, signs = (run.sign, [SIGN]) if with_sign else (None, [])
        bound = plans.bound(kept.selectExpr(*groups, *values, *signs), attributes, sign)
        results = [*self._results, *([] if sign is None else [sign.java])]
        return plans.frame(plans.project(results, bound), [*columns(self.width), *signs])


def _asked_by(function: Function, place: int) -> tuple[list[str], str | None]:
    """The columns that are the arguments of a function, and the one that says whether it looks at a row at all."""
    number = function.java.aggregateFunction().children().size()
    arguments = [argument_column(place, at) for at in range(number)]
    return arguments, filter_column(place) if function.java.filter().isDefined() else None


def _number_of_rows() -> Column:
    return functions.expr(f"coalesce(sum({SIGN}), 0L) AS {_ROWS}")


def _grouping(plans: Plans, expression: JavaObject) -> Attribute:
    if plans.attribute_id(expression) is None:
        raise NotIncrementalError(f"GROUP BY {expression.sql()}")
    return Attribute(expression)


def _passed(plans: Plans, results: Sequence[JavaObject], groups: dict[int, int]) -> dict[int, int]:
    """Which results are columns of the group, by their places here and there."""
    found: dict[int, int] = {}
    for place, result in enumerate(results):
        own = result.child() if kind_of(result) == "Alias" else result
        number = plans.attribute_id(own)
        if number in groups:
            found[place] = groups[number]
    return found
