from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from freshtide.core.arrivals import Arrival
from freshtide.core.errors import UnknownTableError
from freshtide.core.events import DataArrived, Event, UpdateFinished
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Table
from freshtide.runs import Places, beginning_of, reach_of, scheduler_from
from freshtide.runtime.trace import TraceWriter

from .shop import NOON, Shop, write_project


def test_a_table_that_was_never_loaded_is_said_to_be_so(shop: Shop) -> None:
    first, *rest = shop.explains("orders").sentences
    assert first == "'orders' has never been updated."
    assert rest == [
        "No file has arrived in 'orders_feed' yet (landing/orders/*.csv).",
        "Its home is tracks 0 and 1 (cluster 1 of 1).",
    ]


def test_a_base_table_with_files_that_wait_says_how_many_and_how_long(shop: Shop) -> None:
    shop.is_fresh("orders", -700.0)
    shop.arrives("orders", "/in/1", -400.0, at=-90.0)
    shop.arrives("orders", "/in/2", -100.0, at=-30.0)
    told = shop.says("orders")
    assert "'orders' is 11m 40s stale: it holds everything up to 2026-05-01T11:48:20Z." in told
    assert "That is beyond its target lag of 10m." in told
    assert "2 files of 'orders_feed' wait to be loaded, the oldest for 1m 30s." in told
    assert "It is first in the queue" in told


def test_a_file_that_is_loaded_while_it_is_told_about_spoils_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = shop.arrives("orders", "/in/1", -100.0, at=-30.0)
    arrivals = shop.catalog.arrivals
    pending = arrivals.pending

    def loaded_meanwhile(table: str) -> list[Arrival]:
        arrivals.mark_loaded("orders", [file.id], 1)
        return pending(table)

    monkeypatch.setattr(arrivals, "pending", loaded_meanwhile)
    assert "Everything that has arrived in 'orders_feed' is loaded" in shop.says("orders")


def test_a_single_file_is_one_file(shop: Shop) -> None:
    shop.arrives("orders", "/in/1", -5.0, at=-5.0)
    assert "1 file of 'orders_feed' wait" in shop.says("orders")


def test_a_base_table_that_has_all_there_is_points_to_its_feed(shop: Shop) -> None:
    shop.is_fresh("orders", -240.0)
    file = shop.arrives("orders", "/in/1", -240.0)
    shop.catalog.arrivals.mark_loaded("orders", [file.id], 1)
    told = shop.says("orders")
    assert "That is within its target lag of 10m." in told
    assert "Everything that has arrived in 'orders_feed' is loaded; its newest file is stamped 4m ago." in told
    assert "It should bring one every 5m." in told
    assert "queue" not in told


def test_a_view_held_back_by_a_slow_source_names_it_down_to_the_base_table(shop: Shop) -> None:
    shop.is_fresh("orders", -60.0)
    shop.is_fresh("clicks", -7_200.0)
    shop.is_fresh("sales", -7_200.0)
    shop.is_fresh("large_sales", -7_200.0)
    explained = shop.explains("large_sales")
    assert explained.limited_by == ("large_sales", "sales", "clicks")
    told = " ".join(explained.sentences)
    assert "Its least fresh source is 'sales', 2h stale." in told
    assert "It has caught up with it and can get no fresher before that moves." in told
    assert "What holds that back in turn: sales <- clicks." in told
    assert "It has no target lag." in told
    assert "'sales' is 2h stale" in shop.says("sales")
    assert "That is beyond its target lag of 1h." in shop.says("sales")


def test_a_view_is_limited_by_the_source_that_is_least_safe(shop: Shop) -> None:
    shop.is_fresh("orders", 0.0, safe=-900.0)
    shop.is_fresh("clicks", -300.0)
    assert shop.explains("sales").limited_by == ("sales", "orders")


def test_a_view_with_a_source_without_data_says_which(shop: Shop) -> None:
    shop.is_fresh("orders", -60.0)
    explained = shop.explains("sales")
    assert explained.limited_by == ("sales", "clicks")
    assert "Its source 'clicks' has no data yet." in explained.sentences


def test_a_view_that_could_be_updated_is_not_said_to_have_caught_up(shop: Shop) -> None:
    shop.is_fresh("orders", 60.0)
    shop.is_fresh("hourly", -3_600.000001)
    told = shop.says("hourly")
    assert "caught up" not in told, "an hour has closed that it does not show yet"
    assert "It is first in the queue" in told


def test_a_paused_table_says_how_to_let_it_go_on(shop: Shop) -> None:
    shop.is_fresh("orders", -60.0, status="paused")
    shop.arrives("orders", "/in/1", 0.0)
    explained = shop.explains("orders")
    assert "It is paused: `freshtide resume orders` lets it go on." in explained.sentences
    assert "orders" not in [entry["table"] for entry in explained.queue]


def test_a_failed_table_says_why_and_what_to_do(shop: Shop) -> None:
    shop.is_fresh("orders", -60.0, status="failed", reason="disk full")
    assert "It has failed and waits for `freshtide resume orders`: disk full" in shop.explains("orders").sentences


def test_a_table_that_is_being_updated_says_where_and_for_how_long(shop: Shop) -> None:
    shop.arrives("orders", "/in/1", 0.0)
    shop.runs("orders", since=-75.0, track=1)
    explained = shop.explains("orders")
    assert "It is being updated on track 1, for 1m 15s now." in explained.sentences
    assert explained.queue == (), "what runs does not wait"


def test_a_table_further_back_in_the_queue_says_who_goes_first_and_why(shop: Shop) -> None:
    for name in ("orders", "clicks", "sales", "large_sales", "hourly"):
        shop.is_fresh(name, -60.0)
    shop.arrives("orders", "/in/1", 0.0)
    shop.arrives("clicks", "/in/2", 0.0)
    explained = shop.explains("clicks")
    assert [entry["table"] for entry in explained.queue] == ["orders", "clicks"]
    told = " ".join(explained.sentences)
    assert "It is number 2 of 2 in the queue. 'orders' goes first, because it gains" in told
    assert "priority 5 x 60.0s" in told
    assert "for 'clicks': it gains" in told
    first, second = explained.queue
    assert first["benefit"] == pytest.approx(5 * second["benefit"])
    assert (first["delta"], second["delta"]) == (60.0, 60.0)


def all_fresh(shop: Shop, **changes: Any) -> None:
    for name in ("orders", "clicks", "sales", "large_sales", "hourly"):
        shop.is_fresh(name, -600.0, **changes)


def test_a_table_whose_home_tracks_are_busy_says_with_whom(shop: Shop) -> None:
    all_fresh(shop)
    shop.runs("sales", since=-20.0, track=0)
    shop.runs("hourly", since=-10.0, track=1)
    shop.arrives("orders", "/in/1", 0.0, at=-5.0)
    explained = shop.explains("orders")
    assert "It waits: home tracks 0 ('sales') and 1 ('hourly') are busy." in explained.sentences
    assert explained.outlook["waits"] == "home tracks 0 ('sales') and 1 ('hourly') are busy"
    assert shop.explains("sales").outlook["waits"] is None


def test_an_update_that_runs_has_taken_what_had_arrived_and_not_what_came_since(shop: Shop) -> None:
    all_fresh(shop)
    shop.arrives("orders", "/in/1", -300.0, at=-30.0)
    shop.runs("orders", since=-20.0, upto=NOON - 300.0)
    shop.arrives("orders", "/in/2", 0.0, at=-5.0)
    explained = shop.explains("orders")
    assert explained.outlook["waits"] is None
    assert explained.queue == ()


def test_a_table_says_whose_priority_it_has(shop: Shop) -> None:
    explained = shop.explains("clicks")
    assert explained.outlook["priority"] == {"own": 1.0, "scheduled": 1.0, "inherited_from": []}
    project = replace(shop.project, graph=TableGraph(_weighty(table) for table in shop.project.graph.values()))
    told = replace(shop, project=project).explains("clicks")
    assert told.outlook["priority"] == {"own": 1.0, "scheduled": 7.0, "inherited_from": ["large_sales"]}
    assert "Its priority of 1 is raised to 7 for the sake of 'large_sales', computed from it." in told.sentences


def _weighty(table: Table) -> Table:
    return replace(table, priority=7.0) if table.name == "large_sales" else table


def test_a_table_far_behind_says_how_far_one_update_takes_it(shop: Shop) -> None:
    all_fresh(shop)
    shop.arrives("orders", "/in/1", 0.0)
    shop.arrives("orders", "/in/2", 3_600.0)
    explained = shop.explains("orders", 3_600.0)
    assert (
        "One update gains 15m at most: the next one goes to 2026-05-01T12:00:00Z, "
        "although there is data up to 2026-05-01T13:00:00Z."
    ) in explained.sentences
    chopped = explained.outlook["chopped"]
    assert chopped == {"at_most": 900.0, "upto": "2026-05-01T12:00:00Z", "newest": "2026-05-01T13:00:00Z"}


def test_a_table_that_is_tried_again_says_when(shop: Shop) -> None:
    all_fresh(shop, failures=2)
    shop.arrives("orders", "/in/1", 0.0, at=-60.0)
    for since, until in ((-9.0, -8.0), (-6.0, -1.0)):
        number = shop.runs("orders", since=since)
        shop.catalog.updates.fail(number, at=NOON + until, error="disk full")
    explained = shop.explains("orders")
    assert "It waits: its last update failed and is tried again at 2026-05-01T12:00:01Z." in explained.sentences
    assert explained.queue == ()
    assert "It is first in the queue" in shop.says("orders", 2.0)


def test_without_a_run_a_table_waits_for_one_whatever_the_catalog_has_as_running(shop: Shop) -> None:
    all_fresh(shop)
    shop.arrives("orders", "/in/1", 0.0, at=-60.0)
    shop.runs("orders", since=-30.0)
    explained = shop.explains("orders", run_going_on=False)
    assert "No run is going on: it waits for `freshtide run`." in explained.sentences
    assert not any("being updated" in sentence for sentence in explained.sentences)
    assert explained.outlook["waits"] == "it is the next to start"


def test_a_file_that_names_no_time_does_not_look_like_decades_of_data(shop: Shop) -> None:
    shop.arrives("clicks", "/in/1", None)
    shop.arrives("clicks", "/in/2", -30.0)
    (entry,) = shop.explains("clicks").queue
    assert entry["delta"] == 3_600.0, "the first data of a table stands for one period"


def test_under_fifo_the_queue_is_explained_by_waiting(tmp_path: Path) -> None:
    shop = Shop.open(write_project(tmp_path, ordering="fifo"))
    shop.arrives("orders", "/in/1", 0.0)
    sentences = shop.explains("orders").sentences
    assert "It is first in the queue: it has been waiting longest." in sentences
    assert "Its marginal benefit is 3e+03." in sentences, "5 x 300s / 0.5s"
    shop.close()


def test_the_last_decision_is_told_with_those_it_was_preferred_to(shop: Shop) -> None:
    decision = {
        "ordering": "max-benefit",
        "benefit": 12.5,
        "runners_up": [{"table": "clicks", "benefit": 2.0}, {"table": "sales", "benefit": 0.5}],
    }
    number = shop.runs("orders", since=-10.0, decision=decision)
    shop.catalog.updates.finish(number, at=shop.status(-7.5).at, freshness=None, rows=0)
    assert shop.explains("orders").sentences[-1] == (
        "Its last update was chosen by max-benefit with benefit 12.5 ahead of clicks (2), sales (0.5) and took 2.50s."
    )


def test_a_last_update_that_failed_says_why(shop: Shop) -> None:
    decision = {"ordering": "fifo", "benefit": 1.0, "runners_up": []}
    number = shop.runs("orders", since=-10.0, decision=decision)
    shop.catalog.updates.fail(number, at=shop.status(-9.0).at, error="disk full")
    assert shop.explains("orders").sentences[-1].endswith("ahead of nobody and took 1.00s. It failed: disk full")


def test_a_table_that_nobody_declared_cannot_be_explained(shop: Shop) -> None:
    with pytest.raises(UnknownTableError, match="Did you mean 'sales'"):
        shop.explains("salse")


def test_an_explanation_can_be_written_as_json(shop: Shop) -> None:
    shop.arrives("orders", "/in/1", 0.0)
    written = json.loads(json.dumps(shop.explains("orders").as_json()))
    assert written["table"] == "orders"
    assert written["limited_by"] == ["orders"]
    assert written["queue"][0]["table"] == written["first"] == "orders"
    assert written["lane"] == {"label": "cluster 1 of 1", "home": [0, 1], "free": [], "promotable": []}
    assert written["benefit"] == written["queue"][0]["benefit"] > 0.0
    assert written["sentences"][0] == "'orders' has never been updated."


class TestReservations:
    """Under the adaptive scheduler: the mode and the next release, as the trace of the run has them."""

    @pytest.fixture
    def paced(self, tmp_path: Path) -> Iterator[Shop]:
        opened = Shop.open(write_project(tmp_path, "adaptive"))
        for name in opened.project.graph:
            opened.is_fresh(name, -300.0)
        yield opened
        opened.close()

    @staticmethod
    def runs(shop: Shop) -> None:
        """A file of orders is loaded in 2 seconds, and another one comes a minute after it."""
        beginning = beginning_of(shop.project, shop.catalog)
        trace = TraceWriter(Places(shop.project).trace, beginning)
        scheduler = scheduler_from(beginning, trace.recording(reach_of(shop.project)))
        happened: list[tuple[float, Event]] = [
            (0.0, DataArrived(table="orders", timestamp=NOON)),
            (2.0, UpdateFinished("orders", 0, NOON, NOON, 2.0)),
            (60.0, DataArrived(table="orders", timestamp=NOON + 60.0)),
        ]
        for at, event in happened:
            trace.write(NOON + at, [event], scheduler.handle([event], NOON + at))
        trace.close()
        shop.is_fresh("orders", 0.0)
        shop.arrives("orders", "/in/2", 60.0, at=60.0)

    def test_the_mode_and_the_next_release_are_told(self, paced: Shop) -> None:
        self.runs(paced)
        explained = paced.explains("orders", 100.0)
        # Released when the first file came, and one period later again.
        told = "It is in normal mode: one update is released every 5m, the next at 2026-05-01T12:05:00Z (in 3m 20s)."
        assert told in explained.sentences
        assert explained.as_json()["reservation"] == {
            "mode": "normal",
            "period": 300.0,
            "next_release": "2026-05-01T12:05:00Z",
            "runs_early": False,
        }

    def test_an_update_on_a_track_that_was_idle_is_told(self, paced: Shop) -> None:
        """Twelve files come at once, after an hour. The first is loaded, the second before its time has come."""
        beginning = beginning_of(paced.project, paced.catalog)
        trace = TraceWriter(Places(paced.project).trace, beginning)
        scheduler = scheduler_from(beginning, trace.recording(reach_of(paced.project)))
        backlog: list[Event] = [DataArrived(table="orders", timestamp=NOON + 300.0 * n) for n in range(12)]
        ended: list[Event] = [UpdateFinished("orders", 0, NOON, NOON, 0.2)]
        for at, events in ((3600.0, backlog), (3600.2, ended)):
            trace.write(NOON + at, events, scheduler.handle(events, NOON + at))
        trace.close()
        explained = paced.explains("orders", 3600.3)
        assert "Its update was started before its release, on a track that was idle." in explained.sentences
        assert explained.as_json()["reservation"]["runs_early"]

    def test_what_no_trace_tells_is_left_out(self, paced: Shop) -> None:
        paced.arrives("orders", "/in/1", 0.0)
        explained = paced.explains("orders", 100.0)
        assert explained.as_json()["reservation"] is None
        assert "mode" not in " ".join(explained.sentences)

    def test_without_a_run_there_is_no_mode(self, paced: Shop) -> None:
        self.runs(paced)
        explained = paced.explains("orders", 100.0, run_going_on=False)
        assert explained.as_json()["reservation"] is None

    def test_other_schedulers_have_none(self, shop: Shop) -> None:
        assert shop.explains("orders").as_json()["reservation"] is None


def test_the_target_lag_that_a_table_is_updated_by_is_told_once_and_whose_it_is(tmp_path: Path) -> None:
    """Clicks have none and sales are computed from them; of orders the own one is tightest; nobody asks large sales."""
    shop = Shop.open(write_project(tmp_path, "target-lag"))
    try:
        for name in ("orders", "clicks", "sales", "large_sales", "hourly"):
            shop.is_fresh(name, -60.0)
        said = {name: shop.says(name) for name in ("orders", "clicks", "large_sales")}
    finally:
        shop.close()
    assert "It has no target lag of its own, and is updated by that of 'sales', 1h, which is computed" in said["clicks"]
    assert "It has no target lag." not in said["clicks"]
    assert "within its target lag of 10m." in said["orders"]
    assert "is updated by that of" not in said["orders"]
    assert "It has no target lag, and is updated as if that were three periods, 3h." in said["large_sales"]
