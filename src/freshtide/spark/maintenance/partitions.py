"""`partitions`: what was open at the last update is computed anew; all before it is final."""

from __future__ import annotations

from pyspark.sql import DataFrame

from freshtide.core.steps import Span
from freshtide.spark.maintenance.increments import NewRows, View
from freshtide.spark.reading import read_files, stamped_before
from freshtide.storage import Snapshot


def increment(view: View, current: Snapshot, freshness: int, cut: int) -> NewRows:
    """Also serves after a revision, whatever the view is maintained by: as if it had only got to just before that."""
    opened = view.cuts.closed_before(view.table.name, freshness)
    time_column = view.table.time_column
    if opened is None or time_column is None:
        return view.everything(cut)
    frame = view.states.computed(view.table, cut, since=opened)
    replaced = current.between(opened, None)
    mixed = tuple(file for file in replaced if file.low is None or file.low < opened)
    if mixed:
        kept = stamped_before(read_files(view.states.session, current, mixed), time_column, opened)
        frame = frame.unionByName(kept, allowMissingColumns=True)
    return NewRows(frame=frame, remove=replaced)


def spanned(view: View, span: Span, cut: int) -> DataFrame:
    """The buckets that close in one part of a rebuild; those that are open at the end of the last one belong to it."""
    name, time_column = view.table.name, view.table.time_column
    since = None if span.after is None else view.cuts.closed_before(name, span.after)
    frame = view.states.computed(view.table, cut, since=since)
    closed = view.cuts.closed_before(name, cut)
    assert time_column is not None, "buckets are told by their time"
    assert closed is not None, "what is never final is not cut"
    return frame if span.is_last else stamped_before(frame, time_column, closed)
