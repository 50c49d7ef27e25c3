from __future__ import annotations

import queue
from pathlib import Path

from freshtide.catalog import Catalog
from freshtide.core.events import DataArrived, Event
from freshtide.core.graph import TableGraph
from freshtide.feeds import FeedSet
from freshtide.runtime.absences import Absences
from freshtide.runtime.arrivals import ArrivalWatcher
from freshtide.runtime.outages import OutageWatch
from freshtide.world import SystemClock, SystemThreads

from ..core.declared import base, feed
from .surroundings import untroubled

MINUTE = 60.0


def test_what_arrives_in_few_feeds_is_noticed_long_before_it_has_to_be(tmp_path: Path) -> None:
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'catalog.db'}")
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    watcher = ArrivalWatcher(
        FeedSet([feed()], tmp_path, catalog.arrivals),
        TableGraph([base("cpu")]),
        catalog,
        events=events,
        on_request=lambda _request: None,
        outages=OutageWatch([feed()], catalog, poll=MINUTE, tell=lambda _feed, _outage: None),
        surroundings=untroubled(events),
        absences=Absences(),
        more_faults=dict,
        released=lambda _now: [],
        poll=MINUTE,
        clock=SystemClock(),
        threads=SystemThreads(),
    )
    watcher.start()
    try:
        (tmp_path / "landing").mkdir()
        (tmp_path / "landing" / "a.csv").write_text("time\n1970-01-01T00:00:07Z\n")
        found = events.get(timeout=MINUTE / 2)
    finally:
        watcher.stop()
        catalog.close()
    assert found == DataArrived(table="cpu", timestamp=7.0)
