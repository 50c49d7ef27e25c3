"""Files that are stamped anew, where their feed says other things of its times than when they arrived."""

from __future__ import annotations

from freshtide.catalog import Catalog
from freshtide.core.arrivals import LOADABLE, Arrival, ArrivalState
from freshtide.core.feeds import Feed
from freshtide.core.graph import TableGraph
from freshtide.feeds import SettledFile, UnreadableFileError, inspect
from freshtide.project import Project
from freshtide.storage import Store, otherwise_timed
from freshtide.world import Disk


def restamp(project: Project, store: Store, catalog: Catalog, disk: Disk) -> None:
    """Let the catalog have the time stamps that files would get now, before their tables are loaded anew.

    Otherwise these would count as fresh up to times of the old zone. What was promised by the old clocks stays so:
    rows that come before that revise what was computed. It may be done again: a run that dies before the tables are
    loaded leaves it to the next.
    """
    for feed in project.feeds.values():
        if feed.brings_files and _is_retimed(feed, project.graph, store):
            files = catalog.arrivals.in_state(*LOADABLE, feed=feed.name)
            stamps = {file.id: _stamp(feed, file, disk) for file in files}
            catalog.arrivals.restamp({file.id: stamps[file.id] for file in files if stamps[file.id] != file.timestamp})


def _is_retimed(feed: Feed, graph: TableGraph, store: Store) -> bool:
    stored = (
        (table.name, store.table(table.name, time_column=table.time_column)) for table in graph.for_feed(feed.name)
    )
    return any(otherwise_timed(name, table.snapshot, feed.meaning_of_times) is not None for name, table in stored)


def _stamp(feed: Feed, file: Arrival, disk: Disk) -> float | None:
    """The time stamp of a file by what its feed says now; that which it has if it is not there to be asked."""
    settled = SettledFile(
        path=file.position,
        size=file.size,
        modified_ns=file.modified_ns,
        is_punctuation=file.state is ArrivalState.PUNCTUATION,
        seen_at=file.arrived_at,
    )
    try:
        return inspect(feed, settled, disk).timestamp
    except UnreadableFileError:
        return file.timestamp
