"""Shapes: what a view's query says about how its rows depend on the rows of its sources.

Three properties decide how a view can be kept up to date. They are proven from the syntax, or not claimed:
whatever is not understood leaves the view to be recomputed in full, which is always right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from freshtide.core.grains import INSTANT, Grain
from freshtide.sql.joins import Relation, SourceShape, UnknownShapeError
from freshtide.sql.rowtimes import REST, Carrier, Output, nests
from freshtide.sql.selects import QueryAnalysis
from freshtide.sql.text import ParsedQuery, source_tables

__all__ = ["Shape", "SourceShape", "shape_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the rows of a view depend on the rows of its sources."""

    time_column: str | None
    """The output column that carries the time."""
    grain: Grain | None
    """The bucket width of that column; None where it is not known."""
    local: bool
    """Whether a row stamped t depends only on source rows stamped in t's bucket of `grain`."""
    linear: bool
    """Whether the new rows come from the text with the new rows in place of one reference after the other,
    all rows in place of those before it, and the old rows in place of those after it."""
    exact_time: bool
    """Whether the rows stamped up to t are those that the source rows stamped up to t give."""
    reason: str
    """For people, to follow a colon: why a property is missing, or what was recognised."""
    source_grain: Grain = INSTANT
    """With `exact_time`: the grain at which the sources close, all of them together."""
    columns: tuple[str, ...] | None = None
    """The output columns in their order, where all are known."""


def shape_of(
    parsed: ParsedQuery | exp.Expr, sources: Mapping[str, SourceShape], *, time_column: str | None = None
) -> Shape:
    """The shape of a query over these sources; an expression must be one that `parse_query` gave.

    With `time_column` only that output column is considered.
    """
    expression = parsed.expression if isinstance(parsed, ParsedQuery) else parsed
    by_name = {name.lower(): source for name, source in sources.items()}
    try:
        if isinstance(parsed, ParsedQuery) and parsed.pipes:
            raise UnknownShapeError("the pipe syntax is not analysed")
        relation = QueryAnalysis(sources=by_name).query(expression, {})
    except UnknownShapeError as unknown:
        reason = str(unknown)
        relation = Relation(columns=(REST,)).refused(local=reason, linear=reason)
    # Reference tables are the same at all times: they place no row, and nothing waits for them.
    references = {name for name, source in by_name.items() if source.is_reference}
    tables = [table for table in source_tables(expression, frozenset()) if table.name.lower() not in references]
    read = _Read(
        references=frozenset(table.this.meta["start"] for table in tables),
        grains={name: by_name[name].grain for table in tables if (name := table.name.lower()) in by_name},
    )
    columns = None if REST in relation.columns else tuple(o.name or "" for o in relation.columns)
    linear = relation.not_linear is None and bool(read.references) and relation.product == read.references
    return replace(_placed(relation, read, time_column), linear=linear, columns=columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What the text names, whether or not the result depends on it."""

    references: frozenset[int]
    grains: Mapping[str, Grain]

    @property
    def closing(self) -> Grain | None:
        """The grain at which the sources close; None where one may close later than another."""
        if len(self.grains) == 1 or all(grain.is_instant for grain in self.grains.values()):
            return next(iter(self.grains.values()), INSTANT)
        return None


def _placed(relation: Relation, read: _Read, declared: str | None) -> Shape:
    """The shape with the time column that places the rows best: exactly, else in the finest buckets."""
    best: tuple[Output, Carrier] | None = None
    for output in relation.columns:
        time = _time(output, relation)
        if time is None or not (declared is None or output.is_named(declared)):
            continue
        if best is None or _is_better(time, best[1], relation, read):
            best = output, time
    if best is None:
        return _unplaced(relation, declared)
    output, time = best
    exact = _is_exact(time, relation, read)
    return Shape(
        time_column=output.name,
        grain=time.grain,
        local=relation.not_local is None,
        linear=False,
        exact_time=exact,
        reason=relation.not_local or _recognised(time),
        source_grain=(read.closing or INSTANT) if exact else INSTANT,
    )


def _unplaced(relation: Relation, declared: str | None) -> Shape:
    """The shape without a column that is known to carry the time; a declared one is taken on trust."""
    shape = Shape(time_column=None, grain=None, local=False, linear=False, exact_time=False, reason="")
    if declared is not None:
        is_output = REST in relation.columns or any(output.is_named(declared) for output in relation.columns)
        if not is_output:
            return replace(shape, reason=f"it has no output column '{declared}'")
        reason = f"'{declared}' is not recognised as the time of a source or a bucket of it"
        return replace(shape, time_column=declared, reason=relation.not_local or reason)
    if any(output.time and output.name is None for output in relation.columns):
        return replace(shape, reason="the column with the time has no name of its own; give it one with AS")
    return replace(shape, reason=relation.not_local or "no output column carries the time of a source")


def _time(output: Output, relation: Relation) -> Carrier | None:
    """The carrier of a column that can serve as time column: it has a name, all to itself."""
    if output.name is None or output.time is None or output.time.is_window:
        return None
    is_unique = sum(other.is_named(output.name) for other in relation.columns) == 1
    return output.time if is_unique else None


def _is_better(time: Carrier, than: Carrier, relation: Relation, read: _Read) -> bool:
    exact, other = _is_exact(time, relation, read), _is_exact(than, relation, read)
    if exact != other:
        return exact
    return time.grain != than.grain and nests(than.grain, time.grain)


def _is_exact(time: Carrier, relation: Relation, read: _Read) -> bool:
    if read.closing is None:
        # Where sources close at different moments, rows of the faster ones are there before the others' are.
        return False
    if relation.not_local is None and time.grain.is_instant:
        return True
    return relation.not_linear is None and time.covers >= relation.references


def _recognised(time: Carrier) -> str:
    if time.grain.is_instant:
        return f"each row depends on source rows of its own {time.text} only"
    return f"each row depends on one bucket of {time.grain} only, by {time.text}"
