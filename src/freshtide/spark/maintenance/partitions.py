"""`partitions`: what was open at the last update is computed anew; all before it is final."""

from __future__ import annotations

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
