"""What a stream of windows has to know of earlier runs."""

from __future__ import annotations

from freshtide.core.instants import micros_of, seconds
from freshtide.core.latest import WINDOW_COLUMNS
from freshtide.core.tables import Table
from freshtide.spark.latest.stream import LatestStream
from freshtide.storage import Snapshot, stored_rows


def resume(stream: LatestStream, table: Table, snapshot: Snapshot | None) -> None:
    """Let windows go on after the last one of each key that the table has.

    Files that were not done with are read again from their beginnings, and of an older window their rows may be but a
    part: it must not come into the table once more.
    """
    if snapshot is None or table.latest is None or table.latest.windows is None:
        return
    key, (start, _) = list(table.latest.key), WINDOW_COLUMNS
    windows = stored_rows(snapshot, snapshot.files, columns=(*key, start))
    last = windows.group_by(key, use_threads=False).aggregate([(start, "max")])
    starts = (seconds(micros_of(moment)) for moment in last.column(f"{start}_max").to_pylist())
    keys = last.select(key).to_pydict().values()
    for *parts, begins in zip(*keys, starts, strict=True):
        stream.resume_after(parts[0] if len(parts) == 1 else tuple(parts), begins)
