"""GROUP BY: figures of each group are kept, and what has come or gone is added or taken off."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import StructField, StructType

from freshtide.spark.incremental.arrowrows import places_of
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
from freshtide.spark.incremental.states import Taken

_ROWS = "n"
"""How many rows a group has: without any, it is gone."""
_UNDONE = "undone"
_NUMBER_OF_ROWS = f"coalesce(sum({SIGN}), 0L) AS {_ROWS}"
_IS_UNDONE = f"coalesce(min({SIGN}) < 0, false) AS {_UNDONE}"


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

        results = [plans.rewritten(result, exchange) for result in listed(plan.aggregateExpressions())]
        self.width = len(results)
        self.kept = [attribute.java for attribute in self._grouping] + [one.java for one in self._functions]
        """Expressions of what is kept, for their types."""
        groups = {attribute.id: at for at, attribute in enumerate(self._grouping)}
        self._passes = _passed(plans, results, groups)
        self._asked = [_asked_by(function, place) for place, function in enumerate(self._functions)]
        # What is asked of the JVM is the same at each update.
        self._looked_at = plans.seq(self._arguments(plans))
        self._values, self._attributes = self._evaluated()
        self._results = plans.seq(results)
        self._signed_results = plans.seq([*results, plans.sign.java])

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
            parts.append(self._merged(run, values.filter(pc.invert(anew)), gathered.schema, old))
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

    def _merged(self, run: Run, new: pa.Table, schema: StructType, old: Taken) -> DataFrame:
        groups = columns(len(self._grouping))
        joined = self._beside(run, new, schema, old)
        rows = f"coalesce(old.{_ROWS}, 0L) + new.{_ROWS} AS {_ROWS}"
        figures = [f"{buffer.merged} AS {buffer.name}" for function in self._functions for buffer in function.buffers]
        merged = run.plans.select(joined, (*(f"new.{name}" for name in groups), rows, *figures))
        return merged.where(f"{_ROWS} > 0") if groups else merged

    def _beside(self, run: Run, new: pa.Table, schema: StructType, old: Taken) -> DataFrame:
        """What has changed of each group as `new`, and what is kept of it as `old`."""
        groups = columns(len(self._grouping))
        # Groups are compared as GROUP BY does it: those without a value are one.
        try:
            found = old.rows.to_struct_array().take(places_of(new, old.rows, groups))
        except pa.ArrowNotImplementedError:
            on = [functions.col(f"old.{name}").eqNullSafe(functions.col(f"new.{name}")) for name in groups]
            return (
                run.at_hand(new, schema).alias("new").join(run.at_hand(old.rows, old.schema).alias("old"), on, "left")
            )
        together = pa.table({"old": found, "new": new.to_struct_array()})
        return run.at_hand(together, StructType([StructField("old", old.schema), StructField("new", schema)]))

    def _computed(self, run: Run, values: pa.Table) -> DataFrame:
        """The figures of some groups from all their rows."""
        groups = columns(len(self._grouping))
        keys = run.keys(values.select(groups).rename_columns([key_column(at) for at in range(len(groups))]))
        rows = self._child.state(run, When.AFTER, keys.at(self._key_places))
        return self._figures(run, self._rows(run, signed(rows, 1)))

    def _rows(self, run: Run, frame: DataFrame) -> DataFrame:
        """Of rows with a sign, their groups and what functions look at."""
        plans = run.plans
        return plans.plain_frame(plans.project_known(self._looked_at, plans.bound(frame, self._below, run.sign)))

    def _arguments(self, plans: Plans) -> list[JavaObject]:
        """Expressions of the groups and of what functions look at, over rows with a sign."""
        own = [plans.named(attribute.java, column(at)) for at, attribute in enumerate(self._grouping)]
        for function, (arguments, condition) in zip(self._functions, self._asked, strict=True):
            given = listed(function.java.aggregateFunction().children())
            own += [plans.named(argument, name) for argument, name in zip(given, arguments, strict=True)]
            if condition is not None:
                own.append(plans.named(function.java.filter().get(), condition))
        return [*own, plans.named(plans.sign.java, SIGN)]

    def _gathered(self, run: Run, rows: DataFrame) -> DataFrame:
        """What the rows of a change say about each group."""
        merging = [function for function in self._functions if function.merges]
        figures = [f"{b.gathered} AS {b.name}" for function in merging for b in function.buffers]
        # Rows that are in one place need no shuffle.
        rows = rows.coalesce(1) if run.sources.has_few() else rows
        return run.plans.grouped(rows, len(self._grouping), [_NUMBER_OF_ROWS, _IS_UNDONE, *figures])

    def _figures(self, run: Run, rows: DataFrame) -> DataFrame:
        """What is kept of groups, from all their rows."""
        figures: list[str | Column] = [_NUMBER_OF_ROWS]
        for function, asked in zip(self._functions, self._asked, strict=True):
            if function.merges:
                figures += [f"{buffer.gathered} AS {buffer.name}" for buffer in function.buffers]
            else:
                figures.append(run.plans.by_names(function.java, rows, *asked).alias(function.names[0]))
        return run.plans.grouped(rows, len(self._grouping), figures)

    def _result(self, run: Run, kept: DataFrame, *, with_sign: bool = False) -> DataFrame:
        """The rows of the operator, from what is kept of groups."""
        plans, groups = run.plans, columns(len(self._grouping))
        if not self._is_there_without_rows and not groups:
            kept = kept.where(f"{_ROWS} > 0")
        sign, signs = (run.sign, [SIGN]) if with_sign else (None, [])
        bound = plans.bound(plans.select(kept, (*groups, *self._values, *signs)), self._attributes, sign)
        results = self._signed_results if with_sign else self._results
        return plans.frame(plans.project_known(results, bound), [*columns(self.width), *signs])

    def _evaluated(self) -> tuple[list[str], list[Attribute]]:
        """What functions make of what is kept of them, as SQL, and the columns that results know all of it by."""
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
        return values, attributes


def _asked_by(function: Function, place: int) -> tuple[list[str], str | None]:
    """The columns that are the arguments of a function, and the one that says whether it looks at a row at all."""
    number = function.java.aggregateFunction().children().size()
    arguments = [argument_column(place, at) for at in range(number)]
    return arguments, filter_column(place) if function.java.filter().isDefined() else None


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
