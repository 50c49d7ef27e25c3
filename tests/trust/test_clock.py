"""The clock is set back by a day while something waits: everything waits as long as it would have."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from freshtide.catalog import RunLock, lease_folder
from freshtide.spark import DataFrame
from freshtide.world import clock
from tests.runtime.test_outages import NOON, Watchman, watchman
from tests.waiting import wait_until
from tests.warehouse.shop import EVENTS, Shop

__all__ = ["watchman"]

DAY = 86_400.0
PATIENCE = 25.0


class Sundial:
    """The machine's clock, which somebody can set."""

    def __init__(self) -> None:
        self.set_back_by = 0.0

    def time(self) -> float:
        return time.time() - self.set_back_by


@pytest.fixture
def sundial(monkeypatch: pytest.MonkeyPatch) -> Sundial:
    dial = Sundial()
    monkeypatch.setattr(clock, "time", SimpleNamespace(time=dial.time, monotonic=time.monotonic))
    return dial


def run_until(shop: Shop, done: Callable[[], bool]) -> bool:
    """Let the warehouse run until something is done; whether it was before patience ran out."""
    end = time.monotonic() + PATIENCE
    shop.warehouse.run(until=lambda: done() or time.monotonic() > end)
    return done()


def test_a_file_settles_and_a_failed_update_is_repeated(shop: Shop, sundial: Sundial) -> None:
    tries: list[float] = []

    def fragile(events_feed: DataFrame) -> DataFrame:
        # The first call is the analysis, the second the update that fails.
        tries.append(time.monotonic())
        if len(tries) == 2:
            sundial.set_back_by = DAY
            raise RuntimeError("once")
        return events_feed

    shop.warehouse.feed(
        "events_feed", path="landing/events/*", format="csv", schema=EVENTS, time_column="ts", settle="1s"
    )
    shop.warehouse.table(name="events", feed="events_feed")(fragile)
    shop.drop_events("events", "a.csv", [(1, "a", 1)])
    assert run_until(shop, lambda: len(shop.rows("events")) == 1)

    # It is being watched when the clock is set back once more, by another day.
    shop.drop_events("events", "b.csv", [(2, "b", 2)])
    threading.Timer(0.3, lambda: setattr(sundial, "set_back_by", 2 * DAY)).start()
    assert run_until(shop, lambda: len(shop.rows("events")) == 2)
    took = [update.seconds for update in shop.warehouse.workbench.catalog.updates.recent("events")]
    assert took
    assert all(seconds is not None and seconds >= 0.0 for seconds in took)


def test_a_request_is_taken_up(shop: Shop, sundial: Sundial) -> None:
    shop.events("events")
    shop.drop_events("events", "a.csv", [(1, "a", 1)])
    shop.load()
    answered: list[str] = []

    def ask() -> None:
        wait_until(lambda: RunLock(lease_folder(shop.root / "warehouse")).holder() is not None)
        sundial.set_back_by = DAY
        answered.append(shop.warehouse.pause("events"))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert run_until(shop, lambda: bool(answered))


def test_an_outage_is_noticed(watchman: Watchman) -> None:
    watch = watchman.begins()
    watch.look(NOON + 5.0)
    watch.look(NOON + 5.0 - DAY)
    watch.look(NOON + 11.0 - DAY)
    assert watchman.told == []
    watch.look(NOON + 13.0 - DAY)
    (found,) = watchman.told
    assert found.length(NOON + 13.0 - DAY) == pytest.approx(13.0)


def test_time_goes_on_where_the_clock_is_set_back(sundial: Sundial) -> None:
    ours = clock.SystemClock()
    before = ours.onward()
    sundial.set_back_by = DAY
    assert before <= ours.onward() < before + PATIENCE
    assert ours.now() < before - DAY / 2
    sundial.set_back_by = -DAY
    assert ours.onward() == pytest.approx(before + DAY, abs=PATIENCE)
