"""A feed falls silent while a real run goes on, and comes back."""

from __future__ import annotations

import threading
import time

from freshtide.core.health import Outage
from freshtide.observe import FeedHealth, HealthState, WarehouseStatus
from tests.warehouse.shop import Shop


def test_an_outage_is_noticed_while_it_goes_on_and_is_remembered_when_it_is_over(shop: Shop) -> None:
    shop.events("a", period="3s", jitter="200ms")
    shop.events("b", period="1h")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    stop = threading.Event()
    told: list[tuple[str, Outage]] = []
    healths: list[FeedHealth] = []
    seen: list[WarehouseStatus] = []

    def on_outage(feed: str, outage: Outage) -> None:
        told.append((feed, outage))
        healths.append(shop.warehouse.feed_healths()[feed])
        seen.append(shop.warehouse.status())
        if outage.ended_at is None:
            shop.drop_events("a", "2.csv", [(2, "x", 1)])
        else:
            stop.set()

    too_late = time.monotonic() + 60
    shop.warehouse.run(stop=stop, until=lambda: time.monotonic() > too_late, on_outage=on_outage)

    (_, begun), (_, ended) = told
    assert {feed for feed, _ in told} == {"a_feed"}
    assert begun.began_at - begun.silent_since >= 3.2, "the period and the jitter"
    assert (ended.silent_since, ended.began_at, ended.returned) == (begun.silent_since, begun.began_at, True)
    during, after = healths
    assert (during.state, during.outage) == (HealthState.OUTAGE, begun)
    assert (after.outage, after.last_outage) == (None, ended)
    marked, unmarked = ({table.name for table in status.tables if table.silent_since is not None} for status in seen)
    assert (marked, unmarked) == ({"a"}, set())
    assert shop.warehouse.feed_healths()["a_feed"].state is HealthState.UNKNOWN, "no run is going on any more"
    shop.load()
    assert shop.warehouse.feed_healths()["a_feed"].last_outage == ended, "the next run remembers it"
