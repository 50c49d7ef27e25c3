"""`append`: the rows that the query gains between two cuts."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from freshtide.core.steps import Span
from freshtide.spark.maintenance.increments import NewRows, View
from freshtide.spark.queries import evaluate, source_names
from freshtide.storage import Snapshot


def increment(view: View, current: Snapshot, freshness: int, cut: int) -> NewRows:  # noqa: ARG001 - it is only added to
    return NewRows(frame=_gained(view, freshness, cut))


def spanned(view: View, span: Span, cut: int) -> DataFrame:
    """What the view gains in one part of a rebuild: nothing of that is ever touched again."""
    return view.everything(cut).frame if span.after is None else _gained(view, span.after, cut)


def _gained(view: View, freshness: int, cut: int) -> DataFrame:
    """A query that looks at one instant at a time is run over the new rows alone.

    One that joins is run once per source: the new rows of that source, the old ones of those before it and all of those
    after it. Together these are all combinations in which at least one row is new, each once. Reference tables are
    whole in each of them: nothing of them is new, or all of the view would be computed anew.
    """
    table, states = view.table, view.states
    names, whole = source_names(table.query), table.reference_sources
    turns = [place for place, name in enumerate(names) if name not in whole]
    if not table.linear or len(turns) == 1:
        frames = [states.as_of(name, cut) if name in whole else states.between(name, freshness, cut) for name in names]
        return evaluate(states.session, table.query, frames)
    terms: list[DataFrame] = []
    for turn in turns:
        if not states.gains(names[turn], freshness, cut) and (terms or turn != turns[-1]):
            continue
        frames = [
            states.as_of(other, cut)
            if other in whole
            else states.as_of(other, freshness, since=_reach_back(view, other, freshness))
            if place < turn
            else states.between(other, freshness, cut)
            if place == turn
            else states.as_of(other, cut, since=_reach_back(view, other, freshness))
            for place, other in enumerate(names)
        ]
        terms.append(evaluate(states.session, table.query, frames))
    return reduce(DataFrame.unionAll, terms)


def _reach_back(view: View, source: str, freshness: int) -> int | None:
    """From where on old rows of a source can still meet new rows of another."""
    closed = view.cuts.closed_before(source, freshness)
    if view.table.lookback is None or closed is None:
        return None
    return closed - view.cuts.lookback(view.table.name)
