"""An outage as a user sees it: in the output of the run, and from another terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.catalogs import use_catalog
from tests.commands import answer, freshtide


def line_with(words: str, output: IO[str]) -> str:
    """The next line of a run that has these words in it."""
    for line in output:
        if words in line:
            return line
    raise AssertionError(f"the run ended without saying '{words}'")


@pytest.mark.slow
def test_an_outage_is_told_by_the_run_and_shown_to_those_who_look_on(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    assert freshtide("init", "shop", at=tmp_path).returncode == 0
    use_catalog(folder)
    feed = folder / "feeds" / "orders_feed.yml"
    declared = [line for line in feed.read_text().splitlines() if not line.startswith("period:")]
    feed.write_text("\n".join([*declared, "period: 2s", "jitter: 1s", ""]))
    assert {f["health"]["state"] for f in answer("feeds", at=folder)} == {"unknown"}
    run = subprocess.Popen(
        [sys.executable, "-u", "-m", "freshtide", "run"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stdout is not None
    try:
        assert "Feed 'orders_feed' is in an outage: no file has come for" in line_with("outage", run.stdout)
        (shown,) = answer("feeds", at=folder)
        assert (shown["health"]["state"], shown["health"]["ailment"]) == ("outage", "silent")
        assert shown["health"]["rhythm"]["period"] == 2.0
        assert shown["health"]["rhythm"]["known_by"]["arrival_jitter"] == "declared"
        status = answer("status", at=folder)
        assert [table["name"] for table in status["tables"] if table["silent_since"]] == ["orders"]
        assert status["feeds"] == [{**shown, "health": status["feeds"][0]["health"]}]
        told = freshtide("status", at=folder).stdout
        assert "Feed 'orders_feed' is in an outage: no file has come since" in told
        assert any(line.startswith("orders ") and " outage, " in line for line in told.splitlines())
        assert "Feed 'orders_feed' is in an outage" in freshtide("feeds", at=folder).stdout
        explained = answer("explain", "orders_per_hour", at=folder)["sentences"]
        assert any("Feed 'orders_feed' is in an outage" in sentence for sentence in explained)
        new = folder / "landing" / "orders" / "new.csv"
        new.write_text("order_id,ordered_at,customer,amount\n99,2026-05-01T11:00:00Z,zoe,5.00\n")
        os.utime(new, (1, 1))
        assert "then a file came." in line_with("had an outage", run.stdout)
    finally:
        os.killpg(run.pid, signal.SIGINT)
        run.communicate(timeout=120)
    (after,) = answer("feeds", at=folder)
    assert after["health"]["state"] == "unknown"
    assert json.dumps(after["health"]["last_outage"]).count("Z") == 3, "silent since, began, ended"
