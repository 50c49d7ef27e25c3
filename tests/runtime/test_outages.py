"""Noticing outages, with the catalog of a warehouse and a clock of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freshtide.catalog import Catalog
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.feeds import Feed, Settling
from freshtide.core.graph import TableGraph
from freshtide.core.health import Outage, Rhythm, outage_at
from freshtide.runtime.outages import OutageWatch
from freshtide.runtime.recovery import reconcile
from freshtide.storage import Store
from tests.catalogs import empty_catalog
from tests.examples import examples

from ..core.declared import feed

POLL = 0.5
PUNCTUAL = feed(period=10.0, phase=0.0, jitter=2.0 - POLL, timestamp_jitter=0.0, settling=Settling(quiet=0.0))
"""Too long a silence is one of more than 12 seconds."""
NOON = 1_777_636_800.0


@dataclass(slots=True)
class Watchman:
    """A watch over one feed. Moments are seconds from noon."""

    catalog: Catalog
    feed: Feed
    told: list[Outage] = field(default_factory=list)
    files: int = 0

    def begins(self, at: float = 0.0) -> OutageWatch:
        watch = OutageWatch([self.feed], self.catalog, poll=POLL, tell=lambda _, outage: self.told.append(outage))
        watch.begin(NOON + at)
        return watch

    def brings(self, watch: OutageWatch, at: float, **changes: Any) -> None:
        """A file arrives and is registered."""
        self.files += 1
        file = Arrival(
            feed=self.feed.name,
            position=f"/in/{self.files}",
            digest=f"{self.files:064d}",
            size=1,
            modified_ns=1,
            arrived_at=NOON + at,
            state=ArrivalState.READY,
            timestamp=NOON + at,
        )
        watch.arrived([self.catalog.arrivals.register(replace(file, **changes), [])])

    def going_on(self) -> Outage | None:
        return self.catalog.outages.going_on().get(self.feed.name)

    @property
    def last(self) -> Outage:
        return self.catalog.outages.last_ended()[self.feed.name]


@pytest.fixture
def watchman(tmp_path: Path) -> Iterator[Watchman]:
    catalog = Catalog.open(empty_catalog(tmp_path / "state"))
    yield Watchman(catalog, PUNCTUAL)
    catalog.close()


def outage(silent_since: float, began_at: float, ended_at: float | None = None, *, returned: bool = False) -> Outage:
    ended = None if ended_at is None else NOON + ended_at
    return Outage(silent_since=NOON + silent_since, began_at=NOON + began_at, ended_at=ended, returned=returned)


def test_an_outage_is_noticed_when_it_begins_and_when_it_ends(watchman: Watchman) -> None:
    watch = watchman.begins()
    watchman.brings(watch, 5.0)
    watch.look(NOON + 17.0)
    assert watchman.told == [], "twelve seconds are not too long"
    watch.look(NOON + 17.5)
    assert watchman.told == [outage(5.0, 17.0)]
    assert watchman.going_on() == outage(5.0, 17.0)
    watch.look(NOON + 100.0)
    assert len(watchman.told) == 1, "it is told once"
    watchman.brings(watch, 120.0)
    assert watchman.told[1:] == [outage(5.0, 17.0, 120.0, returned=True)]
    assert watchman.going_on() is None
    assert watchman.last == outage(5.0, 17.0, 120.0, returned=True)


def test_the_next_outage_is_noticed_too(watchman: Watchman) -> None:
    watch = watchman.begins()
    watch.look(NOON + 13.0)
    watchman.brings(watch, 20.0)
    watch.look(NOON + 32.0)
    assert watchman.going_on() is None
    watch.look(NOON + 32.1)
    assert watchman.going_on() == outage(20.0, 32.0)


def test_what_was_before_the_run_is_not_held_against_the_feed(watchman: Watchman) -> None:
    first = watchman.begins()
    watchman.brings(first, 5.0)
    first.end(NOON + 6.0)
    second = watchman.begins(1000.0)
    second.look(NOON + 1012.0)
    assert watchman.told == []
    second.look(NOON + 1012.1)
    assert watchman.told == [outage(1000.0, 1012.0)]


def test_an_outage_is_over_when_the_run_ends_for_all_that_anybody_knows(watchman: Watchman) -> None:
    watch = watchman.begins()
    watch.look(NOON + 20.0)
    watch.end(NOON + 30.0)
    assert watchman.going_on() is None
    assert watchman.last == outage(0.0, 12.0, 30.0)


def test_the_outage_of_a_run_that_was_killed_ends_with_its_last_sign_of_life(
    watchman: Watchman, tmp_path: Path
) -> None:
    watch = watchman.begins()
    watch.look(NOON + 20.0)
    watchman.brings(watch, 25.0, state=ArrivalState.QUARANTINED)
    reconcile(TableGraph([]), Store(tmp_path / "tables"), watchman.catalog, NOON + 5000.0)
    assert watchman.going_on() is None
    assert watchman.last == outage(0.0, 12.0, 25.0)


@pytest.mark.parametrize("state", [ArrivalState.PUNCTUATION, ArrivalState.DUPLICATE, ArrivalState.QUARANTINED])
def test_only_a_file_with_data_to_load_ends_a_silence(watchman: Watchman, state: ArrivalState) -> None:
    watch = watchman.begins()
    watchman.brings(watch, 10.0, state=state)
    watch.look(NOON + 13.0)
    watchman.brings(watch, 14.0, state=state)
    assert watchman.going_on() == outage(0.0, 12.0)


def test_a_feed_without_a_known_period_has_no_outage_until_enough_files_have_taught_it(watchman: Watchman) -> None:
    watchman.feed = feed(settling=Settling(quiet=0.0))
    watch = watchman.begins()
    watch.look(NOON + 100_000.0)
    assert watchman.told == []
    moment = 100_000.0
    for _ in range(8):
        moment += 10.0
        watchman.brings(watch, moment)
        watch.look(NOON + moment)
    watch.look(NOON + moment + 19.0)
    assert watchman.told == [], "the jitter is not known and may be a period"
    watch.look(NOON + moment + 21.0)
    (found,) = watchman.told
    assert found.silent_since == NOON + moment
    assert found.began_at == pytest.approx(NOON + moment + 20.0)


def test_with_more_files_the_jitter_is_learnt_and_an_outage_is_noticed_earlier(watchman: Watchman) -> None:
    watchman.feed = feed(settling=Settling(quiet=0.0))
    watch = watchman.begins()
    moment = 0.0
    for _ in range(40):
        moment += 10.0
        watchman.brings(watch, moment)
        watch.look(NOON + moment)
    watch.look(NOON + moment + 12.0)
    (found,) = watchman.told
    assert found.began_at < NOON + moment + 12.0


def test_a_rhythm_that_has_changed_is_looked_up_before_an_alarm_is_raised(watchman: Watchman) -> None:
    watchman.feed = feed(settling=Settling(quiet=0.0))
    watch = watchman.begins()
    moment = 0.0
    for length, files in ((10.0, 60), (30.0, 120)):
        for _ in range(files):
            moment += length
            watchman.brings(watch, moment)
    watch.look(NOON + moment + 29.0)
    assert watchman.told == []
    watch.look(NOON + moment + 61.0)
    assert [told.silent_since for told in watchman.told] == [NOON + moment]


@settings(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(min_value=1, max_value=60), min_size=1, max_size=12))
def test_every_silence_that_is_too_long_is_one_outage_and_no_other_is(tmp_path: Path, gaps: list[int]) -> None:
    """Looked at every half second, whatever the files do: as the definition finds them in hindsight."""
    catalog = Catalog.open(empty_catalog(tmp_path / "state"))
    watchman = Watchman(catalog, PUNCTUAL)
    watch = watchman.begins()
    rhythm = Rhythm(period=10.0, phase=0.0, arrival_jitter=2.0, timestamp_jitter=0.0)
    expected, moment = [], 0.0
    for gap in gaps:
        for half in range(2 * gap):
            watch.look(NOON + moment + half / 2)
        began = outage_at(rhythm, NOON + moment, NOON + moment + gap)
        # What begins within the last half second before the file is noticed by no look.
        if began is not None and gap - 0.5 > rhythm.longest_silence:
            expected.append(replace(began, ended_at=NOON + moment + gap, returned=True))
        moment += gap
        watchman.brings(watch, moment)
    catalog.close()
    assert [told for told in watchman.told if told.returned] == expected
    assert [told.silent_since for told in watchman.told if not told.returned] == [o.silent_since for o in expected]


def test_an_outage_goes_on_while_other_feeds_come_and_go(watchman: Watchman) -> None:
    watch = watchman.begins()
    watchman.brings(watch, 1.0)
    watch.look(NOON + 14.0)
    assert watchman.going_on() is not None
    other = replace(watchman.feed, name="other", origin=None)
    watch.follow([watchman.feed, other], NOON + 15.0)
    watch.look(NOON + 16.0)
    assert watchman.going_on() is not None
    # The other one is not held what was before it was there.
    assert "other" not in watchman.catalog.outages.going_on()
    watch.look(NOON + 28.0)
    assert "other" in watchman.catalog.outages.going_on()
    watch.follow([watchman.feed], NOON + 29.0)
    watch.look(NOON + 60.0)
    assert list(watchman.catalog.outages.going_on()) == [watchman.feed.name]
