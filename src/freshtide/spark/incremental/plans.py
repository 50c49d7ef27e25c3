"""Spark's logical plans from Python: what an operator is made of, and the same operator over other rows.

Between operators rows are frames whose columns are called by their places (`c0`, `c1`, ...), with a last column for the
sign of a change. An operator of a plan knows its columns by numbers instead: to put a frame below it, each column of
the frame is given the number that the operator asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
from py4j.java_gateway import JavaObject, JVMView
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.classic.column import Column as JvmColumn
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DataType, IntegerType, StructField, StructType, _parse_datatype_json_string

from freshtide.spark.jvm import jvm_of
from freshtide.spark.reading import empty_frame

SIGN = "__sign"
"""1: the row has come, -1: it has gone."""

# Operators whose columns are those of what is below them, and perhaps some more.
_PASSING = {"LogicalRDD", "Filter", "Join", "Window", "Generate", "Sort", "GlobalLimit", "LocalLimit", "Offset"}


def column(place: int) -> str:
    return f"c{place}"


def columns(width: int) -> list[str]:
    return [column(place) for place in range(width)]


class Attribute:
    """A column of an operator: by its number expressions refer to it."""

    def __init__(self, of: JavaObject) -> None:
        self.java = of
        self.number = of.exprId()
        self.id = int(self.number.id())


class Plans:
    """Builds plans in the JVM."""

    def __init__(self, session: SparkSession) -> None:
        names = session.sparkContext._jvm
        assert names is not None
        self.session = session
        self._parts = _parts_of(names)
        self._jvm = jvm_of(session)
        self.asked: set[int] | None = None
        """Numbers of the columns that any operator asks for: no others are passed on."""

    def optimised(self, frame: DataFrame) -> JavaObject:
        return frame._jdf.queryExecution().optimizedPlan()

    def opaque(self, schema: StructType) -> tuple[DataFrame, int]:
        """A source of which nothing but the columns is known, and the number that its leaves of a plan are known by.

        Of rows that are known to be none Spark would see that nothing can come of them.
        """
        session = self.session._jsparkSession
        rows = self.session.sparkContext._jsc.emptyRDD()
        nullable = StructType([StructField(field.name, field.dataType) for field in schema])
        frame = session.createDataFrame(rows, session.parseDataType(nullable.json()))
        return DataFrame(frame, self.session), int(frame.queryExecution().analyzed().rdd().id())

    def output(self, plan: JavaObject) -> list[Attribute]:
        """The columns of an operator, without those of others that it passes on and nobody asks for."""
        found = [Attribute(attribute) for attribute in listed(plan.output())]
        if self.asked is None or kind_of(plan) not in _PASSING:
            return found
        return [attribute for attribute in found if attribute.id in self.asked] or found[:1]

    def bound(self, frame: DataFrame, attributes: Sequence[Attribute], sign: Attribute | None = None) -> JavaObject:
        """A plan of the frame's rows, whose columns are these attributes; with `sign`, its last one is that."""
        wanted = [*attributes, *([] if sign is None else [sign])]
        analysed = frame._jdf.queryExecution().analyzed()
        given = listed(analysed.output())
        return self.project([self.alias(have, want) for have, want in zip(given, wanted, strict=True)], analysed)

    def alias(self, expression: JavaObject, named: Attribute) -> JavaObject:
        """The expression as the column of that number."""
        none, empty = self._parts.none, self._parts.empty
        # Expressions know it by its number; by its name it must not be taken for another.
        return self._parts.alias(expression, f"__{named.id}", named.number, empty, none, empty)

    def named(self, expression: JavaObject, name: str) -> JavaObject:
        """The expression as a new column."""
        none, empty = self._parts.none, self._parts.empty
        return self._parts.alias(expression, name, self._parts.new_number(), empty, none, empty)

    def project(self, expressions: Iterable[JavaObject], child: JavaObject) -> JavaObject:
        return self._parts.project(self.seq(expressions), child)

    def project_known(self, expressions: JavaObject, child: JavaObject) -> JavaObject:
        """The same with a sequence that was made before."""
        return self._parts.project(expressions, child)

    def filtered(self, condition: JavaObject, child: JavaObject) -> JavaObject:
        return self._parts.filter(condition, child)

    def beside(self, rows: JavaObject, value: JavaObject) -> JavaObject:
        """Each of the rows with the only row of another plan, or with nothing where that has none."""
        parts = self._parts
        return parts.join(rows, value, parts.left_outer, parts.none, parts.no_hint)

    def over(self, plan: JavaObject, *children: JavaObject) -> JavaObject:
        """The operator over other rows."""
        return plan.withNewChildren(self.seq(children))

    def frame(self, plan: JavaObject, names: Sequence[str]) -> DataFrame:
        """The rows of a plan, its columns under new names."""
        return self._jvm.renamed(self._jvm.frame(self.session, plan), names)

    def plain_frame(self, plan: JavaObject) -> DataFrame:
        """The rows of a plan, whose columns keep their numbers."""
        return self._jvm.frame(self.session, plan)

    def column(self, expression: JavaObject) -> Column:
        """An expression of a plan as a column of its rows."""
        return JvmColumn(self._parts.column(expression))

    def by_names(
        self, function: JavaObject, rows: DataFrame, arguments: Sequence[str], condition: str | None
    ) -> Column:
        """An aggregate function of columns of these rows, told by their names; what is a literal stays one."""
        own = function.aggregateFunction()
        # Some functions ask for the types of their arguments as soon as they are made.
        given = {str(one.name()): one for one in listed(rows._jdf.queryExecution().analyzed().output())}
        children = [
            child if child.foldable() else given[name]
            for child, name in zip(listed(own.children()), arguments, strict=True)
        ]
        parts = [own.withNewChildren(self.seq(children)), *([given[condition]] if condition else [])]
        return JvmColumn(self._parts.column(function.withNewChildren(self.seq(parts))))

    def grouped(self, rows: DataFrame, width: int, figures: Sequence[str | Column]) -> DataFrame:
        """Figures of groups, which are told by the first columns."""
        groups, told = columns(width), [figure for figure in figures if isinstance(figure, str)]
        if len(told) == len(figures):
            return self._jvm.group(rows, groups, told)
        own = [functions.expr(figure) if isinstance(figure, str) else figure for figure in figures]
        return rows.groupBy(*groups).agg(*own)

    def select(self, frame: DataFrame, expressions: Sequence[str]) -> DataFrame:
        """`frame.selectExpr(*expressions)`."""
        return self._jvm.select(frame, expressions)

    def local(self, values: pa.Table, schema: StructType) -> DataFrame:
        """Rows that are here."""
        if not values.num_rows:
            return empty_frame(self.session, schema)
        return self._jvm.rows(self.session, values, schema)

    def schema_of(self, schema: pa.Schema) -> StructType:
        return from_arrow_schema(schema)

    @property
    def sign(self) -> Attribute:
        """The column for the sign of changes: no two frames that have it are ever joined."""
        return self._parts.sign

    def seq(self, elements: Iterable[Any]) -> JavaObject:
        return self._parts.seq(list(elements))

    def expanded(self, plan: JavaObject, child: JavaObject, sign: Attribute) -> JavaObject:
        """An Expand over rows with a sign, which each of the rows that it makes keeps."""
        projections = [self.seq([*listed(one), sign.java]) for one in listed(plan.projections())]
        return self._parts.expand(self.seq(projections), self.seq([*listed(plan.output()), sign.java]), child)

    def generated(self, plan: JavaObject) -> JavaObject:
        """A Generate that passes on all columns, and whose own are not called by the numbers of any of them.

        Columns that it would leave out it knows by their places, and those are others where some are not passed on. For
        INTERSECT ALL and EXCEPT ALL Spark calls new columns by the numbers of those that they are made from, and
        stumbles over that where one of them is a fixed value.
        """
        renamed = {Attribute(one).id: self.named(one, "below") for one in listed(plan.child().output())}
        made = {Attribute(one).id for one in listed(plan.generatorOutput())}
        renamed = {number: alias for number, alias in renamed.items() if number in made}

        def exchange(part: JavaObject) -> JavaObject | None:
            alias = renamed.get(self.attribute_id(part) or -1)
            return None if alias is None else alias.toAttribute()

        child = plan.child()
        if renamed:
            below = [renamed.get(int(one.exprId().id()), one) for one in listed(child.output())]
            child = self.project(below, child)
        generator, parts = self.rewritten(plan.generator(), exchange), self._parts
        own = parts.generate(generator, parts.empty, plan.outer(), plan.qualifier(), plan.generatorOutput(), child)
        return self.project(listed(plan.output()), own)

    def aggregated(
        self, grouping: Sequence[JavaObject], results: Sequence[JavaObject], child: JavaObject
    ) -> JavaObject:
        return self._parts.aggregate(self.seq(grouping), self.seq(results), child, self._parts.none)

    def type_of(self, expression: JavaObject) -> DataType:
        return _parse_datatype_json_string(expression.dataType().json())

    def attribute_id(self, expression: JavaObject) -> int | None:
        """The number of the column that an expression is; None where it computes something."""
        return int(expression.exprId().id()) if kind_of(expression) == "AttributeReference" else None

    def join_kind(self, join: JavaObject) -> str:
        kind = kind_of(join.joinType())
        return "Inner" if kind == "Cross" else kind

    def has_subquery(self, expression: JavaObject) -> bool:
        return bool(self._parts.has_subquery(expression))

    def equi_keys(self, join: JavaObject) -> tuple[list[JavaObject], list[JavaObject]] | None:
        """The expressions of both sides that must be equal for rows to meet; None where there are none."""
        found = self._parts.equi_keys(join)
        if found.isEmpty():
            return None
        parts = found.get()
        return listed(parts._2()), listed(parts._3())

    def rewritten(self, expression: JavaObject, exchange: Callable[[JavaObject], JavaObject | None]) -> JavaObject:
        """The expression with the parts exchanged for which there is something else."""
        other = exchange(expression)
        if other is not None:
            return other
        children = listed(expression.children())
        if not children:
            return expression
        new = [self.rewritten(child, exchange) for child in children]
        if all(have is want for have, want in zip(children, new, strict=True)):
            return expression
        return expression.withNewChildren(self.seq(new))


def signed(frame: DataFrame, sign: int) -> DataFrame:
    return jvm_of(frame.sparkSession).select(frame, ("*", f"{sign} AS {SIGN}"))


def sign_field() -> StructField:
    return StructField(SIGN, IntegerType(), nullable=False)


def listed(seq: JavaObject) -> list[JavaObject]:
    """The elements of a sequence of Scala."""
    return [seq.apply(place) for place in range(seq.size())]


def kind_of(node: JavaObject) -> str:
    """What an operator or expression is called."""
    return str(node.getClass().getSimpleName()).removesuffix("$")


class _Parts:
    """Constructors, looked up once: each part of a name is a trip to the JVM."""

    def __init__(self, names: JVMView) -> None:
        catalyst = names.org.apache.spark.sql.catalyst
        expressions, plans = catalyst.expressions, catalyst.plans.logical
        self.seq = names.org.apache.spark.api.python.PythonUtils.toSeq
        self.alias = expressions.Alias
        self.project = plans.Project
        self.filter = plans.Filter
        self.join = plans.Join
        self.left_outer = getattr(getattr(catalyst.plans, "LeftOuter$"), "MODULE$")
        self.no_hint = plans.JoinHint.NONE()
        self.column = names.org.apache.spark.sql.classic.ExpressionUtils.column
        self.expand = plans.Expand
        self.generate = plans.Generate
        self.aggregate = plans.Aggregate
        self.new_number = expressions.NamedExpression.newExprId
        self.none = getattr(getattr(names.scala, "None$"), "MODULE$")
        self.empty = self.seq([])
        self.has_subquery = getattr(getattr(expressions, "SubqueryExpression$"), "MODULE$").hasSubquery
        self.equi_keys = getattr(getattr(catalyst.planning, "ExtractEquiJoinKeys$"), "MODULE$").unapply
        literal = getattr(getattr(expressions, "Literal$"), "MODULE$").apply(1)
        sign = self.alias(literal, SIGN, self.new_number(), self.empty, self.none, self.empty)
        self.sign = Attribute(sign.toAttribute())


_parts_of = lru_cache(maxsize=1)(_Parts)
