"""What a real run has written replays to the same commands."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

from freshtide.runs import Places, replay_trace
from freshtide.runs.replay import last_beginning
from freshtide.spark import SparkSession
from tests.waiting import wait_until
from tests.warehouse.shop import Shop


def traced(shop: Shop) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Places(shop.warehouse.project).trace.read_text().splitlines()]


def types(lines: list[dict[str, Any]]) -> set[str]:
    """The kinds of events and commands in a trace."""
    return {said["type"] for line in lines for said in (*line.get("events", ()), *line.get("commands", ()))}


def test_a_run_once_replays(shop: Shop) -> None:
    shop.events("a")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1", emit="closed")
    for number, second in enumerate((10, 70, 130)):
        shop.drop_events("a", f"{number}.csv", [(second, "x", 1)])
        shop.load()
    found = replay_trace(Places(shop.warehouse.project).trace)
    assert found.difference is None
    assert found.runs == 3
    assert any(line.get("reached") for line in traced(shop)), "buckets that close were asked for"


def test_a_long_run_with_failures_retries_pauses_and_learnt_costs_replays(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path / "shop", spark, tracks=2, retry={"attempts": 2, "backoff": "50ms"})
    for name in ("a", "b", "c"):
        shop.events(name)
    shop.view("both", "SELECT ts, k, v FROM a UNION ALL SELECT ts, k, v FROM b", priority="5")
    shop.view("ratio", "SELECT ts, 100 / v AS share FROM c")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM both GROUP BY 1", emit="closed")
    shop.view("downstream", "SELECT ts FROM ratio")

    def is_loaded(number: int) -> bool:
        return shop.freshness("a") == 30 * number + 1

    def happenings() -> None:
        for number in range(8):
            for feed in ("a", "b", "c"):
                shop.drop_events(feed, f"{number}.csv", [(30 * number + 1, "x", 0 if number == 5 else 1)])
            if number == 2:
                shop.warehouse.pause("both")
            if number == 4:
                shop.warehouse.resume("both")
            wait_until(partial(is_loaded, number))

    stop = threading.Event()
    _ = shop.warehouse.workbench
    run = threading.Thread(target=lambda: shop.warehouse.run(stop=stop))
    run.start()
    happenings()
    wait_until(lambda: shop.warehouse.workbench.catalog.tables.get("ratio").status == "failed")
    stop.set()
    run.join()
    shop.warehouse.resume("ratio")
    shop.warehouse.run_once()
    found = replay_trace(Places(shop.warehouse.project).trace)
    assert found.difference is None
    assert found.decisions > 20
    seen = types(traced(shop))
    assert seen >= {"DataArrived", "UpdateFinished", "UpdateFailed", "TimerFired", "TablePaused", "TableResumed"}
    assert seen >= {"StartUpdate", "WakeAt", "GiveUp"}
    last = [line["begins"] for line in traced(shop) if "begins" in line][-1]
    costs = {table["name"]: table["cost"] for table in last["tables"]}
    assert costs["a"]["weight"] > 1.0, "the second run starts from what the first has learnt"
    shop.warehouse.close()


def test_a_single_pass_does_not_wait_for_the_releases_of_reservations(tmp_path: Path, spark: SparkSession) -> None:
    """A file an hour is reserved for; those of three hours that have piled up are loaded in one pass all the same."""
    shop = Shop(tmp_path / "shop", spark, tracks=2, scheduler="adaptive")
    shop.events("a", period="1h")
    shop.view("b", "SELECT ts, v FROM a WHERE v > 0")
    for hours in ([1], [2, 3, 4]):
        for hour in hours:
            shop.drop_events("a", f"{hour}.csv", [(3600 * hour, "x", hour)])
        shop.load()
    assert shop.freshness("a") == shop.freshness("b") == 4 * 3600
    begun = last_beginning(Places(shop.warehouse.project).trace)
    assert begun is not None
    assert begun.policy.adaptive is None
    assert shop.warehouse.project.settings.policy.adaptive is not None
    assert replay_trace(Places(shop.warehouse.project).trace).difference is None
    shop.warehouse.close()
