"""Joins: what is known of the rows of a FROM clause.

Relations that are joined stay apart in time until a condition equates their times; then each row of the join
depends on one bucket of both. An outer join shows which rows have no partner, so it depends on all rows that
could be one: the times must be equated in its own condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from freshtide.core.grains import INSTANT, Grain
from freshtide.sql.rowtimes import REST, Carrier, Leaves, Output, Scope, carrier_of, common, named, within

_EQUAL = (exp.EQ, exp.NullSafeEQ)
_NOT_EARLIER = (exp.GT, exp.GTE)
_NOT_LATER = (exp.LT, exp.LTE)
_SIDES = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}
_KINDS = {"INNER": "inner", "CROSS": "inner", "SEMI": "semi", "ANTI": "anti"}


class UnknownShapeError(Exception):
    """A part of the query that is not analysed; the text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceShape:
    """What is known of a source."""

    time_column: str | None
    grain: Grain = INSTANT
    """INSTANT for base tables and row-wise views."""
    columns: tuple[str, ...] | None = None
    """All columns in their order, if known: then `*` has known positions."""
    is_reference: bool = False
    """Whether it is the same at all times, as far as the query is concerned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What is known of the rows of a table, subquery or query."""

    columns: tuple[Output, ...]
    references: frozenset[int] = frozenset()
    """The places of the text (offsets) whose rows it is made from."""
    product: frozenset[int] | None = frozenset()
    """The references whose rows are combined into each row; None where they differ from row to row."""
    not_local: str | None = None
    """Why rows depend on more than their own bucket; None: they do not."""
    not_linear: str | None = None
    """Why rows are not each made from one combination of source rows; None: they are."""

    @property
    def is_constant(self) -> bool:
        return not self.references and self.not_local is None

    def refused(self, *, local: str | None = None, linear: str | None = None) -> Relation:
        """With reasons against; the first one of each kind is kept."""
        return replace(self, not_local=self.not_local or local, not_linear=self.not_linear or linear)

    def renamed(self, names: Iterable[str]) -> Relation:
        """With column names given from outside, as in `FROM t AS x(a, b)`."""
        wanted = tuple(names)
        if not wanted:
            return self
        known = len(wanted) == len(self.columns) and REST not in self.columns
        old = self.columns if known else tuple(Output(name=name) for name in wanted)
        columns = tuple(replace(output, name=name) for output, name in zip(old, wanted, strict=True))
        return replace(self, columns=columns)


@dataclass(slots=True, kw_only=True)
class _Group:
    """Tables whose times are equated."""

    aliases: set[str]
    grain: Grain = INSTANT


@dataclass(slots=True, kw_only=True)
class Joined:
    """A FROM clause as it is read, table by table."""

    tables: dict[str, tuple[Output, ...]] = field(default_factory=dict)
    merged: dict[str, Carrier | None] = field(default_factory=dict)
    full_join: tuple[Leaves, Leaves] = (frozenset(), frozenset())
    references: frozenset[int] = frozenset()
    product: frozenset[int] | None = frozenset()
    not_local: str | None = None
    not_linear: str | None = None
    _groups: list[_Group] = field(default_factory=list)
    _not_before: list[tuple[Carrier, Carrier]] = field(default_factory=list)

    def start(self, alias: str, relation: Relation) -> None:
        """The first table of the clause."""
        self._place(alias, relation)

    def join(self, join: exp.Join, alias: str, relation: Relation) -> None:
        """The next table, as the JOIN says."""
        kind = join_kind(join)
        left = self.scope()
        outer_left = kind != "inner" and len(self._groups) != 1
        self._place(alias, relation)
        self._equate_using(join, alias, kind, left)
        self.equate(join.args.get("on"))
        if kind == "inner":
            return
        if relation.is_constant and kind in ("left", "semi", "anti"):
            # Whether a row has a partner hangs on nothing that could still come.
            self._fill_with_nulls(kind, alias, left, using=set())
            return
        self._refuse_linear(f"a {kind} join is not linear")
        apart = len(self._groups) != 1 or outer_left
        if apart or (relation.is_constant and kind in ("right", "full")):
            self._refuse_local(f"the {kind} join with '{alias}' does not equate the time columns in its condition")
        using = {identifier.name.lower() for identifier in join.args.get("using") or ()}
        self._fill_with_nulls(kind, alias, left, using)

    def generate(self, alias: str, columns: Iterable[str]) -> None:
        """A LATERAL VIEW: more rows out of each row."""
        names = tuple(columns)
        self._add(alias, tuple(Output(name=name) for name in names) or (REST,))

    def equate(self, condition: exp.Expr | None) -> None:
        """Take in the conditions that hold for all rows: times that are equal, or one not before the other."""
        scope = self.scope()
        for part in _conjuncts(condition):
            if isinstance(part, exp.Between):
                self._order(part.this, part.args["low"], scope)
                self._order(part.args["high"], part.this, scope)
            elif isinstance(part, _EQUAL):
                self._equal(carrier_of(part.this, scope), carrier_of(part.expression, scope))
            elif isinstance(part, _NOT_EARLIER):
                self._order(part.this, part.expression, scope)
            elif isinstance(part, _NOT_LATER):
                self._order(part.expression, part.this, scope)

    def relation(self) -> Relation:
        """The joined rows, without columns yet."""
        return Relation(
            columns=(),
            references=self.references,
            product=self.product,
            not_local=self.not_local,
            not_linear=self.not_linear,
        )

    def finish(self) -> Scope:
        """The scope of the SELECT, with all that the conditions say about the times."""
        if len(self._groups) > 1:
            first, second = (min(group.aliases) for group in self._groups[:2])
            self._refuse_local(f"'{first}' and '{second}' are joined without equating their time columns")
        covers = self._covers()
        grains = {alias: group.grain for group in self._groups for alias in group.aliases}
        settle = _Settle(covers=covers, grain=self._groups[0].grain if len(self._groups) == 1 else INSTANT)
        self.tables = {
            alias: tuple(settle.output(output, grains.get(alias, INSTANT)) for output in outputs)
            for alias, outputs in self.tables.items()
        }
        self.merged = {name: settle.carrier(carrier, settle.grain) for name, carrier in self.merged.items()}
        return self.scope()

    def scope(self) -> Scope:
        return Scope(tables=dict(self.tables), merged=dict(self.merged), full_join=self.full_join)

    def _place(self, alias: str, relation: Relation) -> None:
        self._add(alias, tuple(replace(o, carrier=_as_leaf(o.time, alias, o.name)) for o in relation.columns))
        self.not_local = self.not_local or relation.not_local
        self.not_linear = self.not_linear or relation.not_linear
        if self.references & relation.references:
            # Its rows meet rows of the same place in the text, which is replaced as one.
            self._refuse_linear("it joins a subquery with itself")
        self.references |= relation.references
        both = (self.product, relation.product)
        self.product = both[0] | both[1] if both[0] is not None and both[1] is not None else None
        if not relation.is_constant:
            self._groups.append(_Group(aliases={alias}))

    def _add(self, alias: str, outputs: tuple[Output, ...]) -> None:
        if alias in self.tables:
            raise UnknownShapeError(f"two of its tables are called '{alias}'")
        self.tables[alias] = outputs

    def _equate_using(self, join: exp.Join, alias: str, kind: str, left: Scope) -> None:
        for identifier in join.args.get("using") or ():
            name = identifier.name.lower()
            first = left.resolve(exp.column(identifier.copy()))
            second = named(self.tables[alias], name)
            self._equal(first, second)
            self.merged[name] = _merged(first, second, kind, name)

    def _equal(self, first: Carrier | None, second: Carrier | None) -> None:
        if first is None or second is None or first.nullable or second.nullable:
            return
        if first.is_window != second.is_window:
            return
        self._not_before += [(first, second), (second, first)]
        groups = [self._group_of(first.leaf), self._group_of(second.leaf)]
        if groups[0] is None or groups[1] is None or groups[0] is groups[1]:
            return
        grain: Grain | None = INSTANT
        for other in (groups[0].grain, groups[1].grain, first.grain, second.grain):
            grain = common(grain, other) if grain is not None else None
        if grain is not None:
            groups[0].aliases |= groups[1].aliases
            groups[0].grain = grain
            self._groups.remove(groups[1])

    def _order(self, later: exp.Expr, earlier: exp.Expr, scope: Scope) -> None:
        times = carrier_of(later, scope), carrier_of(earlier, scope)
        if times[0] is not None and times[1] is not None and not times[0].nullable and not times[1].nullable:
            self._not_before.append((times[0], times[1]))

    def _group_of(self, leaf: tuple[str, str]) -> _Group | None:
        """The tables that a carrier's column is in; a carrier made from several columns is in none."""
        return next((g for g in self._groups if leaf[0] in g.aliases), None)

    def _fill_with_nulls(self, kind: str, alias: str, left: Scope, using: set[str]) -> None:
        if kind in ("semi", "anti"):
            del self.tables[alias]
            self.merged = dict(left.merged)
            return
        if kind in ("right", "full"):
            for other in left.tables:
                self.tables[other] = _nullable(self.tables[other])
            self.merged = {
                name: carrier if name in using else _maybe_null(carrier) for name, carrier in self.merged.items()
            }
            self.full_join = (frozenset(), frozenset())
        if kind == "full":
            self.full_join = (_leaves(left.tables), _leaves({alias: self.tables[alias]}))
        if kind in ("left", "full"):
            self.tables[alias] = _nullable(self.tables[alias])

    def _covers(self) -> dict[tuple[str, str], frozenset[int]]:
        """For each column the references whose times it is never before, by all conditions together."""
        times = (o.carrier for outputs in self.tables.values() for o in outputs if o.carrier is not None)
        covers = {time.leaf: time.covers for time in times}
        changed = True
        while changed:
            changed = False
            for later, earlier in self._not_before:
                if not (later.bucket.is_instant and earlier.bucket.is_instant) or later.leaf not in covers:
                    continue
                more = covers[later.leaf] | covers.get(earlier.leaf, earlier.covers)
                changed |= more != covers[later.leaf]
                covers[later.leaf] = more
        return covers

    def _refuse_local(self, reason: str) -> None:
        self.not_local = self.not_local or reason

    def _refuse_linear(self, reason: str) -> None:
        self.not_linear = self.not_linear or reason


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settle:
    """Brings carriers to what is known after the last condition."""

    covers: Mapping[tuple[str, str], frozenset[int]]
    grain: Grain

    def output(self, output: Output, grain: Grain) -> Output:
        return replace(output, carrier=self.carrier(output.carrier, grain))

    def carrier(self, carrier: Carrier | None, grain: Grain) -> Carrier | None:
        settled = within(carrier, grain)
        if settled is None:
            return None
        return replace(settled, covers=self.covers.get(settled.leaf, settled.covers))


def join_kind(join: exp.Join) -> str:
    """inner, left, right, full, semi or anti."""
    known = {"this", "on", "using", "side", "kind"}
    if strange := [name for name, value in join.args.items() if value and name not in known]:
        words = join.method or strange[0].strip("_")
        raise UnknownShapeError(f"a join with {words.upper()} is not analysed")
    kind, side = join.kind.upper(), join.side.upper()
    if kind in _KINDS and side in ("", "LEFT"):
        return _KINDS[kind]
    if kind in ("", "OUTER") and side in _SIDES:
        return _SIDES[side]
    raise UnknownShapeError(f"a {side} {kind} join is not analysed")


def _conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    if condition is None:
        return
    bare = condition.unnest()
    if isinstance(bare, exp.And):
        yield from _conjuncts(bare.this)
        yield from _conjuncts(bare.expression)
    else:
        yield bare


def _as_leaf(carrier: Carrier | None, alias: str, name: str | None) -> Carrier | None:
    """A subquery's column seen from outside: a column of its own."""
    if carrier is None or name is None:
        return None
    return replace(carrier, leaf=(alias, name.lower()), bucket=INSTANT)


def _merged(first: Carrier | None, second: Carrier | None, kind: str, name: str) -> Carrier | None:
    """The one column that USING makes of two."""
    if kind == "right":
        return second
    if kind != "full":
        return first
    if first is None or second is None or first.nullable or second.nullable:
        return None
    grain = common(first.grain, second.grain)
    if grain is None or first.is_window or second.is_window:
        return None
    return Carrier(leaf=first.leaf, grain=grain, text=name)


def _nullable(outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    return tuple(replace(output, carrier=_maybe_null(output.carrier)) for output in outputs)


def _maybe_null(carrier: Carrier | None) -> Carrier | None:
    return None if carrier is None else replace(carrier, nullable=True)


def _leaves(tables: Mapping[str, tuple[Output, ...]]) -> Leaves:
    """The columns that place every row."""
    return frozenset(o.time.leaf for outputs in tables.values() for o in outputs if o.time is not None)
