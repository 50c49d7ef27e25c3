"""Time carriers: the columns and expressions of a query that place its rows in time.

A carrier is computed, row by row, from the time columns of the sources and from nothing else: the column
itself, or the bucket it falls into. It has a grain: the rows that a row of the query was made from lie in
the bucket of that grain around the carrier's value. What is not recognised is no carrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from freshtide.core.durations import parse_duration
from freshtide.core.errors import DurationError
from freshtide.core.grains import INSTANT, Grain

_DAY = Grain(width=86_400_000_000)
_CALENDAR_NESTS = {"month": ("month",), "quarter": ("month", "quarter"), "year": ("month", "quarter", "year")}
# What Spark understands; for any other unit it gives NULL.
_TRUNC_UNITS = frozenset({"year", "yyyy", "yy", "quarter", "month", "mm", "mon", "week"})
_DATE_TRUNC_UNITS = _TRUNC_UNITS | {"day", "dd", "hour", "minute", "second", "millisecond", "microsecond"}
_TIMESTAMPS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)
_ROW_WISE_CALLS = frozenset({"date_trunc", "trunc", "window"})


Leaves = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """What is known of a column or expression that carries the time."""

    leaf: tuple[str, str]
    """The column in scope that it is computed from: alias and name. One made from several has no alias."""
    bucket: Grain = INSTANT
    """How it buckets that column."""
    grain: Grain
    """All source rows behind a row lie in the bucket of this grain around the value."""
    covers: frozenset[int] = frozenset()
    """The references of whose rows' time stamps it is the largest."""
    text: str
    """For people: `hour of ts`."""
    is_window: bool = False
    """Whether it is the struct that `window(...)` gives; the time is in its field `start`."""
    nullable: bool = False
    """Whether an outer join fills it with NULL: it then places no row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column of a relation."""

    name: str | None
    """None: Spark makes up a name."""
    carrier: Carrier | None = None
    is_rest: bool = False
    """Whether it stands for any number of columns that are not known."""

    def is_named(self, name: str) -> bool:
        return self.name is not None and self.name.lower() == name.lower()

    @property
    def time(self) -> Carrier | None:
        """The carrier, where it places every row."""
        return None if self.carrier is None or self.carrier.nullable else self.carrier


REST = Output(name=None, is_rest=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The columns that the expressions of a SELECT can name."""

    tables: Mapping[str, tuple[Output, ...]]
    """By lower-cased alias, in the order of the FROM clause."""
    merged: Mapping[str, Carrier | None] = field(default_factory=dict)
    """The columns that USING merged, by lower-cased name."""
    full_join: tuple[Leaves, Leaves] = (frozenset(), frozenset())
    """The columns left and right of a FULL JOIN of which each row has one or the other."""
    grouping_window: Carrier | None = None
    """The column `window` that GROUP BY window(...) gives."""

    def resolve(self, column: exp.Column) -> Carrier | None:
        """The carrier that a column reference names."""
        names = [part.name.lower() for part in column.parts]
        found = self._column(names)
        if found is not None or len(names) == 1 or names[-1] != "start":
            return found
        if len(names) == 2 and names[0] in self.tables:
            return None  # it may be a column `start` of that table
        return _start_of(self._column(names[:-1]))

    def outputs(self) -> tuple[Output, ...]:
        """What `*` stands for."""
        plain = [output for outputs in self.tables.values() for output in outputs]
        if not self.merged:
            return tuple(plain)
        # Merged columns move to the front, so nothing can be said about positions any more.
        once = [Output(name=name, carrier=carrier) for name, carrier in self.merged.items()]
        others = [output for output in plain if (output.name or "").lower() not in self.merged]
        return (REST, *once, *others)

    def _column(self, names: list[str]) -> Carrier | None:
        if len(names) == 1:
            return self._unqualified(names[0])
        if len(names) == 2 and names[0] in self.tables:
            return named(self.tables[names[0]], names[1])
        return None

    def _unqualified(self, name: str) -> Carrier | None:
        if name in self.merged:
            return self.merged[name]
        everywhere = [output for outputs in self.tables.values() for output in outputs]
        if name == "window" and self.grouping_window and not any(o.is_named(name) for o in everywhere):
            return self.grouping_window
        return named(everywhere, name)


def named(outputs: Iterable[Output], name: str) -> Carrier | None:
    """The carrier of that name; None where several columns have it."""
    found = [output for output in outputs if output.is_named(name)]
    return found[0].carrier if len(found) == 1 else None


def carrier_of(expression: exp.Expr, scope: Scope) -> Carrier | None:
    """The carrier that an expression computes."""
    read = _READERS.get(type(expression))
    return read(expression, scope) if read is not None else None


def is_row_wise_call(function: exp.Anonymous) -> bool:
    """Whether a function that sqlglot does not know is known here to be neither aggregate nor generator."""
    return function.name.lower() in _ROW_WISE_CALLS


def nests(outer: Grain, inner: Grain) -> bool:
    """Whether every bucket start of the outer grain is one of the inner."""
    if inner.is_instant or outer == inner:
        return True
    if outer.is_instant:
        return False
    if inner.unit is not None:
        return outer.unit is not None and inner.unit in _CALENDAR_NESTS.get(outer.unit, ())
    # Calendar units start at midnight, and nothing longer than a day divides them all.
    return (outer.width if outer.unit is None else _DAY.width) % inner.width == 0


def common(first: Grain, second: Grain) -> Grain | None:
    """The one of two grains whose buckets hold the other's whole; None if they overlap."""
    if nests(first, second):
        return first
    return second if nests(second, first) else None


def within(carrier: Carrier | None, grain: Grain) -> Carrier | None:
    """The carrier in a relation whose rows depend on whole buckets of that grain."""
    shared = common(carrier.grain, grain) if carrier is not None else None
    return replace(carrier, grain=shared) if carrier is not None and shared is not None else None


def _inner(expression: exp.Expr, scope: Scope) -> Carrier | None:
    return carrier_of(expression.this, scope)


def _column(column: exp.Expr, scope: Scope) -> Carrier | None:
    return scope.resolve(column) if isinstance(column, exp.Column) else None


def _field(dot: exp.Expr, scope: Scope) -> Carrier | None:
    return _start_of(carrier_of(dot.this, scope)) if dot.name.lower() == "start" else None


def _to_date(call: exp.Expr, scope: Scope) -> Carrier | None:
    return None if call.args.get("format") else _bucketed(carrier_of(call.this, scope), _DAY, "day")


def _bucketed(carrier: Carrier | None, bucket: Grain, word: str) -> Carrier | None:
    if carrier is None or carrier.is_window:
        return None
    if bucket.is_instant:
        return carrier
    grain, step = common(bucket, carrier.grain), common(bucket, carrier.bucket)
    if grain is None or step is None:
        return None
    text = f"{word} of {carrier.text}"
    return replace(carrier, bucket=step, grain=grain, covers=frozenset(), text=text)


def _start_of(window: Carrier | None) -> Carrier | None:
    return replace(window, is_window=False) if window is not None and window.is_window else None


def _cast(cast: exp.Expr, scope: Scope) -> Carrier | None:
    inner = carrier_of(cast.this, scope)
    if inner is None or inner.is_window or cast.args.get("format"):
        return None
    target = cast.args["to"].this
    if target == exp.DType.DATE:
        return _bucketed(inner, _DAY, "day")
    return inner if target in _TIMESTAMPS else None


def _call(call: exp.Expr, scope: Scope) -> Carrier | None:
    name, arguments = call.name.lower(), call.expressions
    if len(arguments) != 2:  # sliding and shifted windows have more
        return None
    if name == "date_trunc":
        return _truncated(arguments[1], arguments[0], _DATE_TRUNC_UNITS, scope)
    if name == "trunc":
        return _truncated(arguments[0], arguments[1], _TRUNC_UNITS, scope)
    width = _width(arguments[1]) if name == "window" else None
    if width is None:
        return None
    bucketed = _bucketed(carrier_of(arguments[0], scope), width, f"{width} window")
    return replace(bucketed, is_window=True) if bucketed is not None else None


def _truncated(time: exp.Expr, unit: exp.Expr, units: frozenset[str], scope: Scope) -> Carrier | None:
    if not (isinstance(unit, exp.Literal) and unit.is_string and unit.name.lower() in units):
        return None
    grain = Grain.of_unit(unit.name)
    if grain is None:
        return None
    # Time stamps are whole microseconds: to truncate to these changes nothing.
    return _bucketed(carrier_of(time, scope), INSTANT if grain.width == 1 else grain, unit.name.lower())


def _width(expression: exp.Expr) -> Grain | None:
    """The grain of a window's duration, a string or an INTERVAL."""
    if isinstance(expression, exp.Interval):
        text = f"{expression.name} {expression.text('unit')}"
    elif isinstance(expression, exp.Literal) and expression.is_string:
        text = expression.name
    else:
        return None
    try:
        grain = Grain.of_seconds(parse_duration(text.strip().lower().removeprefix("interval ")))
    except DurationError:
        return None
    return None if grain.is_instant else grain


def _greatest(greatest: exp.Expr, scope: Scope) -> Carrier | None:
    found = [carrier_of(part, scope) for part in (greatest.this, *greatest.expressions)]
    times = [time for time in found if time is not None and not time.is_window and not time.nullable]
    if len(times) < len(found):
        return None
    return _one_of(times, f"greatest({', '.join(time.text for time in times)})", "greatest")


def _coalesce(coalesce: exp.Expr, scope: Scope) -> Carrier | None:
    found = [carrier_of(part, scope) for part in (coalesce.this, *coalesce.expressions)]
    first = found[0]
    if first is not None and not first.nullable:
        return first
    times = [time for time in found if time is not None and not time.is_window]
    if len(found) != 2 or len(times) != 2:
        return None
    left, right = scope.full_join
    leaves = (times[0].leaf, times[1].leaf)
    if not ((leaves[0] in left and leaves[1] in right) or (leaves[0] in right and leaves[1] in left)):
        return None
    either = [replace(time, covers=frozenset(), nullable=False) for time in times]
    return _one_of(either, times[0].text, "coalesce")


def _one_of(times: list[Carrier], text: str, function: str) -> Carrier | None:
    """A value that is, row by row, one of several times."""
    grain: Grain | None = INSTANT
    for time in times:
        grain = common(grain, time.grain) if grain is not None else None
    if grain is None:
        return None
    # It can only be matched with the same expression over the same columns.
    parts = sorted(f"{time.leaf!r} by {time.bucket!r}" for time in times)
    covers = frozenset[int]().union(*(time.covers for time in times))
    return Carrier(leaf=("", f"{function}({'; '.join(parts)})"), grain=grain, covers=covers, text=text)


_READERS: Mapping[type[exp.Expr], Callable[[exp.Expr, Scope], Carrier | None]] = {
    exp.Paren: _inner,
    exp.Alias: _inner,
    exp.Column: _column,
    exp.Dot: _field,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.TsOrDsToDate: _to_date,
    exp.Anonymous: _call,
    exp.Greatest: _greatest,
    exp.Coalesce: _coalesce,
}
