"""Looking on while a run starts, goes on with other files than there are by now, or has died."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from freshtide.catalog import RequestKind, RunLease
from freshtide.catalog.leases.folder import FolderSeat
from freshtide.catalog.leases.holders import granted
from freshtide.project import changes_between, load_project
from freshtide.runs import Places, Presence, seen_by_others
from freshtide.world import SystemProcesses
from tests.commands import Done, answer, freshtide
from tests.observe.shop import NOON, TABLES, Shop, write_project
from tests.waiting import wait_until


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop.open(write_project(tmp_path / "shop"))
    opened.is_fresh("orders", time.time() - NOON - 400.0)
    yield opened
    opened.close()


@pytest.fixture
def run(shop: Shop) -> Iterator[Presence]:
    """A run of this process that goes on."""
    places = Places(shop.project)
    with seen_by_others(shop.project) as presence, RunLease(places.lock, shop.catalog.seat):
        presence.works(shop.project)
        yield presence


def edit(shop: Shop, before: str = "10m", after: str = "5m") -> None:
    (shop.project.root / "tables" / "orders.sql").write_text(TABLES["orders"].replace(before, after), encoding="utf-8")


def orders(found: dict[str, Any]) -> Any:
    return next(table for table in found["tables"] if table["name"] == "orders")


@pytest.mark.usefixtures("run")
def test_a_run_is_judged_by_what_it_runs_with_until_an_edit_is_applied(shop: Shop) -> None:
    root = shop.project.root
    assert answer("status", at=root)["run"] == {"state": "going on", "told": [], "unapplied": [], "problems": []}
    edit(shop)
    told = "1 edit of the project is not applied, and the run goes on without: table orders changed: target_lag 10m"
    found = answer("status", at=root)
    assert (orders(found)["target_lag"], orders(found)["within_target"]) == (600.0, True)
    assert found["run"]["unapplied"] == ["table orders changed: target_lag 10m -> 5m"]
    # Other tables have a target and were never loaded.
    assert orders(answer("freshness", at=root, code=1))["within_target"] is True
    assert "That is within its target lag of 10m." in answer("explain", "orders", at=root)["sentences"][0]
    for words in (["status"], ["freshness"], ["explain", "orders"]):
        shown = freshtide(*words, at=root).stdout
        assert told in shown
        assert "`freshtide apply`" in shown


def test_an_edit_while_a_run_starts_is_not_taken_for_what_it_runs_with(shop: Shop) -> None:
    places = Places(shop.project)
    with seen_by_others(shop.project) as presence, RunLease(places.lock, shop.catalog.seat):
        edit(shop)
        presence.works(shop.project)
        found = answer("status", at=shop.project.root)
    assert orders(found)["target_lag"] == 600.0
    assert found["run"]["unapplied"] == ["table orders changed: target_lag 10m -> 5m"]


def test_a_run_that_goes_on_with_an_edit_is_judged_by_it(shop: Shop, run: Presence) -> None:
    edit(shop)
    run.works(load_project(shop.project.root))
    found = answer("status", at=shop.project.root)
    assert (orders(found)["target_lag"], orders(found)["within_target"]) == (300.0, False)
    assert found["run"]["unapplied"] == []


@pytest.mark.usefixtures("run")
def test_files_with_a_mistake_do_not_keep_anybody_from_looking_on(shop: Shop) -> None:
    edit(shop, "10m", "soon")
    found = answer("status", at=shop.project.root)
    assert orders(found)["target_lag"] == 600.0
    assert len(found["run"]["problems"]) == 1
    assert "The files of the project have 1 problem" in freshtide("status", at=shop.project.root).stdout


def test_without_a_run_the_files_count(shop: Shop) -> None:
    with seen_by_others(shop.project) as presence:
        presence.works(shop.project)
    edit(shop)
    found = answer("status", at=shop.project.root)
    assert orders(found)["target_lag"] == 300.0
    assert found["run"]["state"] == "none"


def test_apply_waits_for_a_run_that_is_starting_and_what_was_shown_takes_effect(shop: Shop) -> None:
    root = shop.project.root
    done: list[Done] = []
    with seen_by_others(shop.project) as presence:
        edit(shop)
        assert "A run is starting" in freshtide("status", at=root).stdout
        asking = threading.Thread(target=lambda: done.append(freshtide("apply", at=root)))
        asking.start()
        wait_until(lambda: bool(shop.catalog.requests.open_after(0)))
        edited = load_project(root)
        with RunLease(Places(shop.project).lock, shop.catalog.seat):
            presence.works(shop.project)
            [plan] = shop.catalog.requests.open_after(0)
            assert plan.kind is RequestKind.PLAN
            changes = changes_between(shop.project, edited)
            shop.catalog.requests.finish(plan.id, json.dumps(changes.as_json()))
            wait_until(lambda: bool(shop.catalog.requests.open_after(plan.id)))
            [apply] = shop.catalog.requests.open_after(plan.id)
            shop.catalog.requests.finish(apply.id, "Changed.")
            asking.join()
    assert (apply.kind, apply.target) == (RequestKind.APPLY, changes.digest)
    assert done[0].returncode == 0, done[0].stderr
    assert "waiting until it can answer" in done[0].stderr
    assert "target_lag 10m -> 5m" in done[0].stdout


def test_a_run_that_has_died_is_told_with_what_it_left_unfinished(shop: Shop) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    process = replace(SystemProcesses().this(), pid=ended.pid, born=1)
    places = Places(shop.project)
    holder = granted(process, epoch=1, lock="l", taken_at=time.time())
    assert FolderSeat(places.lock).take(holder, None)
    shop.runs("orders", since=time.time() - NOON - 30.0)
    found = answer("status", at=shop.project.root)
    assert found["run"]["state"] == "died"
    assert orders(found)["running_on"] is None
    assert orders(found)["interrupted_since"] is not None
    shown = freshtide("status", at=shop.project.root).stdout
    assert f"The last run, process {ended.pid} on " in shown
    assert "has died: it was last seen at " in shown
    assert "1 update was interrupted: orders. Nothing is lost: `freshtide run` goes on from there." in shown
    assert "track 0" not in shown
    assert "interrupted" in next(line for line in shown.splitlines() if line.startswith("orders"))
    told = " ".join(answer("explain", "orders", at=shop.project.root)["sentences"])
    assert "was interrupted: the run has died. The next run repeats it." in told
