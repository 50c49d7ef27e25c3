from __future__ import annotations

from dataclasses import replace

from freshtide.catalog import Catalog
from freshtide.core.arrivals import ArrivalState
from freshtide.core.health import ArrivalTimes, Outage

from .arrivals import a_file
from .test_books import an_update

SILENCE = Outage(silent_since=1_777_000_000.25, began_at=1_777_000_400.5)
LATER = Outage(silent_since=1_777_001_000.0, began_at=1_777_001_400.0)


def test_an_outage_goes_on_until_a_file_comes(catalog: Catalog, url: str) -> None:
    catalog.outages.begin("cpu", SILENCE)
    assert catalog.outages.going_on() == {"cpu": SILENCE}
    assert catalog.outages.last_ended() == {}
    catalog.outages.end("cpu", at=1_777_000_500.0)
    ended = replace(SILENCE, ended_at=1_777_000_500.0, returned=True)
    assert catalog.outages.going_on() == {}
    assert catalog.outages.last_ended() == {"cpu": ended}
    again = Catalog.open(url)
    assert again.outages.last_ended() == {"cpu": ended}
    again.close()


def test_feeds_have_outages_of_their_own(catalog: Catalog) -> None:
    catalog.outages.begin("cpu", SILENCE)
    catalog.outages.begin("disk", LATER)
    catalog.outages.end("cpu", at=1_777_001_500.0)
    assert catalog.outages.going_on() == {"disk": LATER}
    assert set(catalog.outages.last_ended()) == {"cpu"}


def test_the_last_outage_that_is_over_is_the_newest(catalog: Catalog) -> None:
    for outage, end in ((SILENCE, 1_777_000_500.0), (LATER, 1_777_001_500.0)):
        catalog.outages.begin("cpu", outage)
        catalog.outages.end("cpu", at=end)
    assert catalog.outages.last_ended()["cpu"].silent_since == LATER.silent_since


def test_an_outage_that_nobody_watches_any_longer_ends_without_a_file(catalog: Catalog) -> None:
    catalog.outages.begin("cpu", SILENCE)
    catalog.outages.begin("disk", LATER)
    catalog.outages.abandon(1_777_001_000.0)
    assert catalog.outages.going_on() == {}
    assert catalog.outages.last_ended() == {
        "cpu": replace(SILENCE, ended_at=1_777_001_000.0),
        "disk": replace(LATER, ended_at=LATER.began_at),
    }, "it was watched when it began, whatever else is known"


def test_outages_of_long_ago_can_be_forgotten(catalog: Catalog) -> None:
    catalog.outages.begin("cpu", SILENCE)
    catalog.outages.end("cpu", at=1_777_000_500.0)
    catalog.outages.begin("disk", SILENCE)
    catalog.prune(1_777_000_501.0 + 90 * 86_400.0)
    assert catalog.outages.last_ended() == {}
    assert catalog.outages.going_on() == {"disk": SILENCE}


def test_the_last_sign_of_life_is_the_newest_file_or_update(catalog: Catalog) -> None:
    assert catalog.last_sign_of_life() is None
    catalog.arrivals.register(a_file(arrived_at=100.0), [])
    assert catalog.last_sign_of_life() == 100.0
    update = catalog.updates.start(an_update(started_at=101.0))
    assert catalog.last_sign_of_life() == 101.0
    catalog.updates.finish(update, at=105.0, freshness=90.0, rows=1)
    assert catalog.last_sign_of_life() == 105.0
    catalog.arrivals.register(a_file("/in/b", arrived_at=107.0), [])
    assert catalog.last_sign_of_life() == 107.0


def test_arrivals_are_those_of_data_files_the_last_ones_in_their_order(catalog: Catalog) -> None:
    for number in range(5):
        catalog.arrivals.register(a_file(f"/in/{number}", arrived_at=100.0 + number, timestamp=float(number)), [])
    catalog.arrivals.register(a_file("/in/mark", state=ArrivalState.PUNCTUATION), [])
    catalog.arrivals.register(a_file("/in/torn", state=ArrivalState.QUARANTINED), [])
    catalog.arrivals.register(a_file("/in/other", feed="disk"), [])
    catalog.arrivals.register(a_file("/in/empty", arrived_at=110.0, timestamp=None), [])
    assert catalog.arrivals.times("cpu", 3) == [
        ArrivalTimes(at=103.0, timestamp=3.0),
        ArrivalTimes(at=104.0, timestamp=4.0),
        ArrivalTimes(at=110.0, timestamp=None),
    ]
