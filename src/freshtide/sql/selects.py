"""Queries: what is known of the rows of a SELECT, of subqueries, CTEs and set operations.

Each clause is looked at in the order in which SQL applies it. Clauses that are not listed here end the
analysis: a query is understood whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from sqlglot import exp

from freshtide.core.errors import UnknownTableError
from freshtide.core.grains import INSTANT, Grain
from freshtide.sql.joins import Joined, Relation, SourceShape, UnknownShapeError
from freshtide.sql.rowtimes import (
    REST,
    Carrier,
    Output,
    Scope,
    carrier_of,
    common,
    is_row_wise_call,
    nests,
    within,
)

_ORDERING = frozenset({"order", "sort", "cluster", "distribute"})  # without LIMIT they change no rows
_QUERY = _ORDERING | {"with_", "this", "limit", "offset"}
_SELECT = _QUERY | {"expressions", "hint", "distinct", "from_", "laterals", "joins", "where", "group"}
_SELECT = _SELECT | {"having", "qualify", "windows"}
_SET_OPERATION = _QUERY | {"expression", "distinct"}
_SUBQUERY = _QUERY | {"alias"}
_TABLE = frozenset({"this", "alias", "hints"})
_GENERATORS = (exp.UDTF, exp.Inline, exp.Stack)
_AROUND_A_CALL = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)

Ctes = Mapping[str, Relation]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnalysis:
    """Finds the relation that a query gives over these sources (by lower-cased name)."""

    sources: Mapping[str, SourceShape]

    def query(self, node: exp.Expr, ctes: Ctes) -> Relation:
        """The rows of a query; `ctes` are those in scope, by lower-cased name."""
        inner = self._with(node, ctes)
        match node:
            case exp.Select():
                _only(node, _SELECT)
                relation = self._select(node, inner)
            case exp.SetOperation():
                _only(node, _SET_OPERATION)
                relation = self._set_operation(node, inner)
            case exp.Subquery() if isinstance(node.this, exp.Query):
                _only(node, _SUBQUERY)
                relation = self.query(node.this, inner)
            case _:
                raise UnknownShapeError("a join in parentheses is not analysed")
        if node.args.get("limit") or node.args.get("offset"):
            relation = relation.refused(
                local="LIMIT picks rows out of all rows", linear="LIMIT picks rows out of all rows"
            )
        return relation

    def _with(self, node: exp.Expr, ctes: Ctes) -> Ctes:
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        _only(with_, frozenset({"expressions"}))
        found = dict(ctes)
        for cte in with_.expressions:
            _only(cte, frozenset({"this", "alias", "materialized"}))
            found[cte.alias.lower()] = self.query(cte.this, found).renamed(cte.alias_column_names)
        return found

    def _select(self, select: exp.Select, ctes: Ctes) -> Relation:
        joined = self._from(select, ctes)
        where = select.args.get("where")
        if where is not None:
            joined.equate(where.this)
        scope = joined.finish()
        scope = replace(scope, grouping_window=_grouping_window(select, scope))
        relation = replace(joined.relation(), columns=tuple(_outputs(select, scope)))
        if self._has_subquery(select, ctes):
            reason = "it has a subquery in an expression"
            relation = relation.refused(local=reason, linear=reason)
        if select.args.get("from_") is None or relation.is_constant:
            return relation
        relation = _grouped(select, scope, relation)
        relation = _windowed(select, scope, relation)
        return _distinct(select, relation)

    def _from(self, select: exp.Select, ctes: Ctes) -> Joined:
        joined = Joined()
        from_ = select.args.get("from_")
        if from_ is None:
            return joined
        _only(from_, frozenset({"this"}))
        joined.start(*self._table(from_.this, ctes, 0))
        for position, join in enumerate(select.args.get("joins") or (), start=1):
            joined.join(join, *self._table(join.this, ctes, position))
        for position, lateral in enumerate(select.args.get("laterals") or ()):
            if not lateral.args.get("view"):
                raise UnknownShapeError("a LATERAL join is not analysed")
            joined.generate(lateral.alias.lower() or f"lateral view {position}", lateral.alias_column_names)
        return joined

    def _table(self, node: exp.Expr, ctes: Ctes, position: int) -> tuple[str, Relation]:
        """The alias and the rows of one table of a FROM clause."""
        match node:
            case exp.Table() if isinstance(node.this, exp.Identifier):
                _only(node, _TABLE)
                relation = ctes.get(node.name.lower()) or self._source(node)
            case exp.Subquery():
                relation = self.query(node, ctes)
            case exp.Values() if node.find(exp.Query) is None:
                relation = Relation(columns=(REST,))
            case _:
                raise UnknownShapeError("it reads something that is neither a table nor a subquery")
        alias = node.alias_or_name.lower() or f"subquery {position}"
        return alias, relation.renamed(node.alias_column_names)

    def _source(self, table: exp.Table) -> Relation:
        source = self.sources.get(table.name.lower())
        if source is None:
            raise UnknownTableError(table.name, known=self.sources)
        if source.is_reference:
            return Relation(columns=tuple(Output(name=column) for column in source.columns or ()) or (REST,))
        reference = frozenset({table.this.meta["start"]})
        relation = Relation(columns=(REST,), references=reference, product=reference)
        if source.time_column is None:
            reason = f"'{table.name}' has no time column"
            return relation.refused(local=reason, linear=reason)
        name = source.time_column
        carrier = Carrier(leaf=("", name), grain=source.grain, covers=reference, text=name)
        time = Output(name=name, carrier=carrier)
        columns = [time if time.is_named(column) else Output(name=column) for column in source.columns or ()]
        return replace(relation, columns=tuple(columns) if time in columns else (REST, time))

    def _set_operation(self, node: exp.SetOperation, ctes: Ctes) -> Relation:
        left, right = self.query(node.this, ctes), self.query(node.expression, ctes)
        sums = isinstance(node, exp.Union) and not node.args.get("distinct")
        word = type(node).__name__.upper()
        columns = tuple(_side_by_side(left, right))
        if left.is_constant and right.is_constant:
            return Relation(columns=columns)
        relation = Relation(
            columns=columns,
            references=left.references | right.references,
            product=left.product if left.product == right.product else None,
            not_local=left.not_local or right.not_local,
            not_linear=left.not_linear or right.not_linear,
        )
        if not sums:
            relation = relation.refused(linear=f"{word} compares rows")
        if not any(output.time for output in columns):
            relation = relation.refused(local=f"the sides of {word} have no time column at the same position")
        return relation

    def _has_subquery(self, select: exp.Select, ctes: Ctes) -> bool:
        """Whether an expression holds a query; those of FROM and WITH are looked at on their own.

        One over reference tables gives the same at all times.
        """
        parts: list[object] = [join.args.get("on") for join in select.args.get("joins") or ()]
        for name, value in select.args.items():
            if name not in ("from_", "with_", "joins"):
                parts += value if isinstance(value, list) else [value]
        queries = [query for part in parts if isinstance(part, exp.Expr) for query in part.find_all(exp.Query)]
        return not all(self._reads_references(query, ctes) for query in queries)

    def _reads_references(self, query: exp.Query, ctes: Ctes) -> bool:
        names = [table.name.lower() for table in query.find_all(exp.Table)]
        sources = [None if name in ctes else self.sources.get(name) for name in names]
        picks = query.find(exp.Limit, exp.Offset) is not None
        return bool(sources) and not picks and all(source is not None and source.is_reference for source in sources)


def _only(node: exp.Expr, known: frozenset[str]) -> None:
    for name, value in node.args.items():
        if name not in known and value is not None and value is not False and value != []:
            raise UnknownShapeError(f"{name.strip('_').upper()} is not analysed")


def _side_by_side(left: Relation, right: Relation) -> Iterator[Output]:
    """The columns of a set operation: named by the left, carriers where both sides have one."""
    known = True
    for first, second in zip_longest(left.columns, right.columns, fillvalue=REST):
        known = known and not first.is_rest and not second.is_rest
        carriers = (first.time, second.time) if known else (None, None)
        yield replace(first, carrier=_either(carriers[0], carriers[1], left, right))


def _either(first: Carrier | None, second: Carrier | None, left: Relation, right: Relation) -> Carrier | None:
    if first is None or second is None or first.is_window or second.is_window:
        return None
    grain = common(first.grain, second.grain)
    if grain is None:
        return None
    # For rows of one side the references of the other play no part.
    exact = first.covers >= left.references and second.covers >= right.references
    return replace(first, grain=grain, covers=first.covers | second.covers if exact else frozenset())


def _outputs(select: exp.Select, scope: Scope) -> Iterator[Output]:
    for item in select.expressions:
        if isinstance(item, exp.QueryTransform):
            raise UnknownShapeError("TRANSFORM runs a script")
        if isinstance(item, exp.Star):
            yield from _star(item, scope.outputs())
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            yield from _star(item.this, scope.tables.get(item.table.lower(), (REST,)))
        elif isinstance(item, exp.Aliases):
            yield from (Output(name=name.name) for name in item.expressions)
        elif isinstance(item, _GENERATORS) or (isinstance(item, exp.Anonymous) and not is_row_wise_call(item)):
            yield REST  # without an alias it may give any number of columns
        else:
            name = item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else None
            yield Output(name=name, carrier=carrier_of(item, scope))


def _star(star: exp.Star, outputs: tuple[Output, ...]) -> Iterator[Output]:
    if star.args.get("replace") or star.args.get("rename") or star.args.get("ilike"):
        yield REST
        return
    left_out = {part.name.lower() for column in star.args.get("except_") or () for part in _parts(column)}
    yield from (output for output in outputs if (output.name or "").lower() not in left_out)


def _parts(column: exp.Expr) -> list[exp.Expr]:
    return list(column.parts) if isinstance(column, exp.Column) else [column]


def _grouping_window(select: exp.Select, scope: Scope) -> Carrier | None:
    """The one `window(...)` among the keys: Spark calls its column `window`."""
    group = select.args.get("group")
    keys = group.expressions if group is not None else ()
    windows = [key for key in keys if isinstance(key, exp.Anonymous) and key.name.lower() == "window"]
    return carrier_of(windows[0], scope) if len(windows) == 1 else None


def _grouped(select: exp.Select, scope: Scope, relation: Relation) -> Relation:
    group = select.args.get("group")
    if group is None:
        if select.args.get("having") or _aggregates(select):
            reason = "it aggregates all rows into one"
            return _timeless(relation).refused(local=reason, linear=reason)
        if not _is_row_wise(select, scope):
            reason = "its functions may aggregate"
            return _timeless(relation).refused(local=reason, linear=reason)
        return relation
    relation = relation.refused(linear="it groups rows")
    if any(group.args.get(name) for name in ("grouping_sets", "cube", "rollup", "totals")) or group.find(
        exp.GroupingSets, exp.Cube, exp.Rollup
    ):
        return _timeless(relation).refused(local="grouping sets leave the time out of some rows")
    if not group.args.get("all"):
        keys = [carrier for key in group_keys(select, group) if (carrier := carrier_of(key, scope)) is not None]
        columns = tuple(_if(output, _is_determined(output.time, keys)) for output in relation.columns)
        relation = replace(relation, columns=columns)
    if not any(output.time for output in relation.columns):
        return relation.refused(local="no time column is both a key of GROUP BY and selected")
    return relation


def group_keys(select: exp.Select, group: exp.Group) -> Iterator[exp.Expr]:
    """The expressions grouped by, with ordinals and aliases looked up."""
    aliases = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    for key in group.expressions:
        for part in key.expressions if isinstance(key, exp.Tuple) else (key,):
            bare = part.unnest()
            if isinstance(bare, exp.Literal) and not bare.is_string and bare.name.isdigit():
                before = select.expressions[: int(bare.name)]
                if before and not any(item.is_star for item in before):
                    yield before[-1]
                continue
            yield bare
            if isinstance(bare, exp.Column) and not bare.table and bare.name.lower() in aliases:
                yield aliases[bare.name.lower()]


def _is_determined(carrier: Carrier | None, keys: list[Carrier]) -> bool:
    """Whether all rows of a group have the same value."""
    return carrier is not None and any(
        key.leaf == carrier.leaf and nests(carrier.bucket, key.bucket) and not key.nullable for key in keys
    )


def _if(output: Output, kept: bool) -> Output:
    return output if kept else replace(output, carrier=None)


def _timeless(relation: Relation) -> Relation:
    return replace(relation, columns=tuple(_if(output, False) for output in relation.columns))


def _computed(select: exp.Select) -> Iterator[exp.Expr]:
    """All parts of the expressions that are computed after grouping, those of subqueries left out."""
    parts = [select.args[name] for name in ("having", "qualify", "order") if select.args.get(name)]
    for part in (*select.expressions, *parts):
        yield from part.walk(prune=lambda node: isinstance(node, exp.Query))


def _aggregates(select: exp.Select) -> bool:
    return any(isinstance(node, exp.AggFunc) and not _is_windowed(node) for node in _computed(select))


def _is_windowed(call: exp.Expr) -> bool:
    node: exp.Expr = call
    while isinstance(node.parent, _AROUND_A_CALL):
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.parent.this is node


def _is_row_wise(select: exp.Select, scope: Scope) -> bool:
    """Whether no unknown function can be an aggregate.

    Beside an aggregate Spark refuses columns that are not grouped by: a plain column proves that there is
    none. It must not be an alias of this very SELECT, which may stand for an aggregate.
    """
    aliases = {item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias)}
    for item in select.expressions:
        bare = item.unalias()
        is_column = isinstance(bare, exp.Column) and (bare.table or bare.name.lower() not in aliases)
        if item.is_star or is_column or carrier_of(bare, scope) is not None:
            return True
    return not any(item.find(exp.Func, exp.Any) for item in select.expressions)


def _windowed(select: exp.Select, scope: Scope, relation: Relation) -> Relation:
    windows = [node for node in _computed(select) if isinstance(node, exp.Window)]
    if not windows:
        return relation
    relation = relation.refused(linear="it uses window functions")
    grain: Grain | None = INSTANT
    for window in windows:
        key = _partition_grain(window, select, scope)
        grain = common(grain, key) if grain is not None and key is not None else None
    if grain is None:
        return relation.refused(local="a window function is not partitioned by a time column")
    columns = tuple(replace(output, carrier=within(output.carrier, grain)) for output in relation.columns)
    return replace(relation, columns=columns)


def _partition_grain(window: exp.Window, select: exp.Select, scope: Scope) -> Grain | None:
    for key in window.args.get("partition_by") or ():
        carrier = carrier_of(key, scope)
        if carrier is not None and not carrier.nullable:
            return carrier.grain
    declared = {w.name.lower(): w for w in select.args.get("windows") or () if w is not window}
    base = declared.get(window.alias.lower())
    return _partition_grain(base, select, scope) if base is not None else None


def _distinct(select: exp.Select, relation: Relation) -> Relation:
    distinct = select.args.get("distinct")
    if distinct is None:
        return relation
    if distinct.args.get("on"):
        raise UnknownShapeError("DISTINCT ON is not analysed")
    relation = relation.refused(linear="DISTINCT compares rows")
    if not any(output.time for output in relation.columns):
        return relation.refused(local="DISTINCT compares rows of all times")
    return relation
