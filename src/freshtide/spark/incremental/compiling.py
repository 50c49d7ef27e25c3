"""From a query to operators that are maintained from changes: a rule for each operator that Spark makes of the query.

Spark has resolved names, types and subqueries by then, and what it has made of the query gives the same rows whatever
the sources hold: nothing is known of them but their columns.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshtide.core.definitions import words_of
from freshtide.core.tables import Query, SqlQuery, Table
from freshtide.spark.incremental.aggregates import Aggregate
from freshtide.spark.incremental.joins import Join
from freshtide.spark.incremental.keyed import Keyed
from freshtide.spark.incremental.leaves import Constant, Leaf
from freshtide.spark.incremental.operators import NotIncrementalError, Operator, require_comparable, require_storable
from freshtide.spark.incremental.plans import Attribute, Plans, kind_of, listed
from freshtide.spark.incremental.rewriting import with_rules
from freshtide.spark.incremental.rowwise import Expand, Project, RowWise, Union
from freshtide.spark.incremental.versions import with_versions
from freshtide.spark.queries import evaluate, source_names
from freshtide.spark.schemas import TableSchemas
from freshtide.sql import columns_of_former

_JOINS = {"Inner", "LeftOuter", "RightOuter", "FullOuter", "LeftSemi", "LeftAnti", "ExistenceJoin"}
_SESSION = "spark.sessionWindow"
_INLINE = "spark.sql.optimizer.collapseProjectAlwaysInline"
_NUMBERED = re.compile(r"#\d+L?")
_WORDS = {
    "GlobalLimit": "LIMIT without ORDER BY",
    "LocalLimit": "LIMIT without ORDER BY",
    "Offset": "OFFSET without ORDER BY",
    "Sample": "TABLESAMPLE",
    "BatchEvalPython": "a function in Python",
    "ArrowEvalPython": "a function in Python",
    "RecursiveUnion": "a recursive query",
    "UnionLoop": "a recursive query",
}
"""What users call an operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A query that can be maintained from changes."""

    root: Operator
    stateful: tuple[Aggregate | Keyed, ...]
    """Operators of which something is kept, each by its place."""
    names: tuple[str, ...]
    """Of the columns of the view."""
    fingerprint: str
    """Of the operators and what they keep: what another plan has kept is of no use."""
    as_of_joins: tuple[str, ...] = ()
    """What was recognised as the latest row up to a time, in words."""


def compiled(session: SparkSession, query: Query, schemas: Mapping[str, StructType]) -> Compiled:
    """The operators of a query; NotIncrementalError names the first one that there is no rule for."""
    plans = Plans(session)
    names = source_names(query)
    opaque = [plans.opaque(schemas[name]) for name in names]
    frame = evaluate(session, query, [source for source, _ in opaque])
    require_comparable(frame.schema)
    plan, as_of_joins = with_versions(plans, with_rules(plans, plans.optimised(frame)))
    sources = {number: name for (_, number), name in zip(opaque, names, strict=True)}
    compiler = _Compiler(plans, sources)
    compiler.ask_for(plans.output(plan))
    compiler.look_through(plan)
    plans.asked = compiler.asked
    root = compiler.operator(_without_order(plan))
    # A plan of many columns is not told to its end: another version of Spark may differ there.
    told = f"{session.version} {_NUMBERED.sub('', str(plan.toString()))}"
    return Compiled(
        root=root,
        stateful=tuple(compiler.stateful),
        names=tuple(frame.columns),
        fingerprint=hashlib.sha256(told.encode()).hexdigest()[:16],
        as_of_joins=as_of_joins,
    )


def compiled_query(session: SparkSession, table: Table, schemas: TableSchemas) -> Compiled:
    """The operators of a view's query, which is looked at once for as long as it and Spark live."""
    columns = {source: schemas.of(source) for source in table.sources}
    return known_query(session, table.query, columns)


def known_query(session: SparkSession, query: Query, schemas: Mapping[str, StructType]) -> Compiled:
    """The same for a query over these columns."""
    told = [words_of(query), {name: schema.json() for name, schema in schemas.items()}]
    known = str(session.sparkContext.applicationId), json.dumps(told, sort_keys=True)
    found = _KNOWN.get(known) or compiled(session, query, schemas)
    with _KEEPING:
        # Last in, and last to go.
        _KNOWN.pop(known, None)
        _KNOWN[known] = found
        if len(_KNOWN) > _MOST_KNOWN:
            del _KNOWN[next(iter(_KNOWN))]
    return found


def columns_by_former(
    session: SparkSession, query: SqlQuery, former: SqlQuery, schemas: Mapping[str, StructType]
) -> tuple[str, ...] | None:
    """What the columns of a query are of those that a former one gives, row by row; none: they are the same.

    None where they have other rows. Spark must make the same plan of both, so it holds whatever the sources hold.
    """
    plans = Plans(session)
    sources = {name: plans.opaque(schemas[name])[0] for name in {*source_names(query), *source_names(former)}}
    now, was = (evaluate(session, one, [sources[name] for name in source_names(one)]) for one in (query, former))
    if _is_same(plans, now, was):
        return ()
    columns = columns_of_former(query.text, former.text)
    if not columns:
        return None
    # A figure that several columns need would be computed once, below them, and the plan be another one for that.
    session.conf.set(_INLINE, "true")
    try:
        return columns if _is_same(plans, now, was.selectExpr(*columns)) else None
    finally:
        session.conf.unset(_INLINE)


def _is_same(plans: Plans, one: DataFrame, other: DataFrame) -> bool:
    """Whether two queries give the same columns and the same rows."""
    first, second = plans.optimised(one), plans.optimised(other)
    return one.schema.json() == other.schema.json() and bool(first.sameResult(second))


def against(session: SparkSession, table: Table, schemas: TableSchemas) -> str | None:
    """The operator of a view's query that there is no rule for."""
    try:
        compiled_query(session, table, schemas)
    except NotIncrementalError as error:
        return error.operator
    return None


_MOST_KNOWN = 512
_KNOWN: dict[tuple[str, str], Compiled] = {}
_KEEPING = Lock()


class _Compiler:
    def __init__(self, plans: Plans, sources: Mapping[int, str]) -> None:
        self.stateful: list[Aggregate | Keyed] = []
        self._plans = plans
        self._sources = sources
        self.asked: set[int] = set()

    def ask_for(self, attributes: list[Attribute]) -> None:
        self.asked |= {attribute.id for attribute in attributes}

    def look_through(self, plan: JavaObject) -> None:
        """Which columns are asked for; what cannot be repeated is refused wherever it stands."""
        if kind_of(plan) == "LogicalRDD":
            return
        if not plan.deterministic():
            raise NotIncrementalError("what gives another result each time")
        self.asked |= {int(one.exprId().id()) for one in listed(plan.references().toSeq())}
        for child in listed(plan.children()):
            if kind_of(plan) == "Union":
                # It takes columns by their places.
                self.ask_for(self._plans.output(child))
            self.look_through(child)

    def operator(self, plan: JavaObject) -> Operator:  # noqa: PLR0911 - one for each rule
        kind = kind_of(plan)
        match kind:
            case "LogicalRDD":
                return self._leaf(plan)
            case "LocalRelation" | "OneRowRelation" | "Range":
                return Constant(plan, len(self._plans.output(plan)))
            case "Filter":
                fused = self._fused(plan)
                return fused or RowWise(self._plans, plan, self.operator(plan.child()), passes=_same(self._plans, plan))
            case "Project":
                child = self.operator(plan.child())
                return Project(self._plans, plan, child, passes=_projected(self._plans, plan))
            case "Expand":
                return Expand(self._plans, plan, self.operator(plan.child()), passes={})
            case "Generate":
                return RowWise(self._plans, plan, self.operator(plan.child()), passes=_same(self._plans, plan))
            case "Union":
                return Union([self.operator(child) for child in listed(plan.children())])
            case "Join":
                return self._join(plan)
            case "Aggregate":
                return self._aggregate(plan)
            case "Window":
                return self._window(plan, plan)
            case "GlobalLimit" | "Offset":
                return self._first_rows(plan)
            case "Sort" | "Repartition" | "RepartitionByExpression" | "RebalancePartitions":
                # Which rows there are does not hang on where they are.
                return self.operator(plan.child())
        raise NotIncrementalError(_WORDS.get(kind, f"the operator {kind}"))

    def _leaf(self, plan: JavaObject) -> Operator:
        names = {int(one.exprId().id()): str(one.name()) for one in listed(plan.output())}
        asked = [names[attribute.id] for attribute in self._plans.output(plan)]
        return Leaf(self._sources[int(plan.rdd().id())], asked)

    def _join(self, plan: JavaObject) -> Operator:
        if self._plans.join_kind(plan) not in _JOINS:
            raise NotIncrementalError(f"a join of the kind {self._plans.join_kind(plan)}")
        return Join(self._plans, plan, self.operator(plan.left()), self.operator(plan.right()))

    def _aggregate(self, plan: JavaObject) -> Operator:
        grouping = listed(plan.groupingExpressions())
        sessions = [
            one for one in grouping if kind_of(one) == "AttributeReference" and one.metadata().contains(_SESSION)
        ]
        if not sessions:
            return self._keeps(Aggregate(self._plans, plan, self.operator(plan.child()), len(self.stateful)))
        keys = [one for one in grouping if one not in sessions and not one.foldable()]
        # What is kept lies behind its key, which the query need not ask for.
        results = [*listed(plan.aggregateExpressions()), *keys]
        with_keys = self._plans.aggregated(grouping, results, plan.child())
        output = self._plans.output(plan)
        return self._keyed(with_keys, with_keys, [Attribute(one) for one in keys], output=output)

    def _window(self, plan: JavaObject, bottom: JavaObject) -> Operator:
        partition = listed(bottom.partitionSpec())
        if kind_of(bottom.child()) == "WindowGroupLimit":
            # Spark's own: of each partition it leaves only rows that the condition above can let pass.
            bottom = bottom.child()
        if any(self._plans.attribute_id(one) is None for one in partition):
            raise NotIncrementalError("a window function that is partitioned by what is computed")
        return self._keyed(plan, bottom, [Attribute(one) for one in partition])

    def _fused(self, plan: JavaObject) -> Operator | None:
        """A condition on a window function: of rows that it leaves out nothing is kept."""
        below = plan.child()
        return self._window(plan, below) if kind_of(below) == "Window" else None

    def _first_rows(self, plan: JavaObject) -> Operator:
        ordered = plan.child()
        while kind_of(ordered) in {"LocalLimit", "Offset", "Project"}:
            ordered = ordered.child()
        if kind_of(ordered) != "Sort" or not getattr(ordered, "global")():
            raise NotIncrementalError(_WORDS[kind_of(plan)])
        return self._keyed(plan, ordered, [])

    def _keyed(
        self,
        plan: JavaObject,
        bottom: JavaObject,
        keys: list[Attribute],
        *,
        output: list[Attribute] | None = None,
    ) -> Operator:
        child = self.operator(bottom.child())
        output = self._plans.output(plan) if output is None else output
        return self._keeps(Keyed(self._plans, plan, bottom, child, len(self.stateful), keys=keys, output=output))

    def _keeps(self, operator: Aggregate | Keyed) -> Operator:
        for expression in operator.kept:
            require_storable(self._plans.type_of(expression))
        # An operator below it has taken a place meanwhile.
        operator.place = len(self.stateful)
        self.stateful.append(operator)
        return operator


def _without_order(plan: JavaObject) -> JavaObject:
    """A table has no order."""
    return _without_order(plan.child()) if kind_of(plan) == "Sort" else plan


def _same(plans: Plans, plan: JavaObject) -> dict[int, int]:
    """The columns that an operator passes on, by their places above and below."""
    below = {attribute.id: place for place, attribute in enumerate(plans.output(plan.child()))}
    return {place: below[a.id] for place, a in enumerate(plans.output(plan)) if a.id in below}


def _projected(plans: Plans, plan: JavaObject) -> dict[int, int]:
    below = {attribute.id: place for place, attribute in enumerate(plans.output(plan.child()))}
    found: dict[int, int] = {}
    for place, expression in enumerate(listed(plan.projectList())):
        own = expression.child() if kind_of(expression) == "Alias" else expression
        number = plans.attribute_id(own)
        if number is not None and number in below:
            found[place] = below[number]
    return found
