"""Looking on while a run goes on: whatever has failed and runs, nothing is started, and any table can be explained."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.catalog import Catalog
from freshtide.observe.reconstruction import scheduler_now
from freshtide.project import Project, load_project
from freshtide.runs import Places
from freshtide.scheduling import ORDERINGS
from freshtide.storage import Store

from .shop import NOON, Shop, write_project

HISTORIES = 4
LONG_AGO = -60.0


def project_on(root: Path, tracks: int, ordering: str = "max-benefit") -> Project:
    settings = write_project(root, ordering) / "freshtide.yml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("tracks: 2", f"tracks: {tracks}"))
    return load_project(root)


@pytest.fixture
def one_track(tmp_path: Path) -> Iterator[Shop]:
    project_on(tmp_path, tracks=1)
    shop = Shop.open(tmp_path)
    for name in shop.project.graph:
        shop.is_fresh(name, -600.0, failures=int(name == "orders"))
    yield shop
    shop.close()


def fails(shop: Shop, name: str, *, since: float, until: float) -> None:
    number = shop.runs(name, since=since)
    shop.catalog.updates.fail(number, at=NOON + until, error="disk full")


def test_what_came_during_an_update_that_failed_is_next_on_the_track_that_it_gave_back(one_track: Shop) -> None:
    one_track.arrives("orders", "/in/1", 0.0, at=-60.0)
    fails(one_track, "orders", since=-9.0, until=-1.0)
    one_track.arrives("clicks", "/in/2", 0.0, at=-5.0)
    clicks, orders = one_track.explains("clicks", -0.5), one_track.explains("orders", -0.5)
    assert clicks.outlook["waits"] == "it is the next to start"
    assert [entry["table"] for entry in clicks.queue] == ["clicks"]
    assert orders.outlook["waits"] == "its last update failed and is tried again at 2026-05-01T12:00:00Z"
    assert not any("being updated" in sentence for sentence in (*clicks.sentences, *orders.sentences))


def test_an_update_runs_that_was_started_after_one_that_failed_though_the_clock_was_set_back(one_track: Shop) -> None:
    one_track.arrives("orders", "/in/1", 0.0, at=-60.0)
    fails(one_track, "orders", since=50.0, until=60.0)
    one_track.runs("orders", since=-4.0)
    one_track.arrives("clicks", "/in/2", 0.0, at=-5.0)
    assert one_track.explains("orders").outlook["waits"] is None
    assert one_track.explains("clicks").outlook["waits"] == "home track 0 ('orders') is busy"


def test_what_failed_before_the_clock_was_set_back_waits_no_longer_than_it_is_to(one_track: Shop) -> None:
    one_track.arrives("orders", "/in/1", 0.0, at=-60.0)
    fails(one_track, "orders", since=86_300.0, until=86_400.0)
    waits = one_track.explains("orders").outlook["waits"]
    assert waits == "its last update failed and is tried again at 2026-05-01T12:00:01Z"


@pytest.mark.parametrize("ordering", [*sorted(ORDERINGS), "adaptive"])
def test_in_any_history_nothing_but_what_runs_is_running(tmp_path: Path, ordering: str) -> None:
    for tracks in (1, 2):
        project = project_on(tmp_path, tracks, ordering)
        for seed in range(HISTORIES):
            shop = Shop(project, Catalog.open("sqlite://"), Store(Places(project).tables))
            running = something_happens(shop, random.Random(seed), tracks)
            scheduler = scheduler_now(project, shop.catalog, NOON, run_going_on=True)
            scheduler.check()
            tracks_of = {name: scheduler.look(name).track for name in project.graph}
            assert {name: track for name, track in tracks_of.items() if track is not None} == running, f"seed {seed}"
            assert shop.explains(random.Random(seed).choice(list(project.graph))).sentences
            shop.close()


def something_happens(shop: Shop, rng: random.Random, tracks: int) -> dict[str, int]:
    """Files come, updates fail and are tried again, others run; the tables that do, with their tracks."""
    for name in shop.project.graph:
        shop.is_fresh(name, rng.choice([None, -600.0, -60.0]), failures=rng.choice([0, 1, 2]))
    for number in range(rng.randint(0, 6)):
        stamp = rng.choice([None, rng.uniform(-500.0, 0.0)])
        shop.arrives(rng.choice(["orders", "clicks"]), f"/in/{number}", stamp, at=rng.uniform(LONG_AGO, 0.0))
    idle_since = dict.fromkeys(range(tracks), LONG_AGO)
    rested_since = dict.fromkeys(shop.project.graph, LONG_AGO)
    running: dict[str, int] = {}
    for _ in range(rng.randint(0, 8)):
        name, track = rng.choice(list(rested_since)), rng.randrange(tracks)
        since = max(idle_since[track], rested_since[name]) + rng.uniform(0.0, 5.0)
        until = since + rng.uniform(0.1, 10.0)
        if since > 0.0 or name in running or track in running.values():
            continue
        update = shop.runs(name, since=since, track=track, upto=NOON + rng.uniform(-500.0, 0.0))
        if until < 0.0:
            shop.catalog.updates.fail(update, at=NOON + until, error="disk full")
            idle_since[track] = rested_since[name] = until
        else:
            running[name] = track
    return running
