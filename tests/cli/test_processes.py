"""Commands as processes of their own: how they are interrupted, and what they do beside each other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from freshtide.catalog import RunLock, lease_folder
from freshtide.project import create_starter
from tests.catalogs import use_catalog
from tests.commands import answer, freshtide, freshtide_process
from tests.waiting import wait_until


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    create_starter(folder, "shop")
    return folder


def test_debug_shows_the_traceback(shop: Path) -> None:
    assert "Traceback" in freshtide_process("explain", "ordres", "--debug", at=shop).stderr


@pytest.mark.parametrize("moment", ["the imports", "the start of Spark"])
def test_ctrl_c_during_the_start_ends_it_with_a_word_and_leaves_no_process_behind(shop: Path, moment: str) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "freshtide", "run", "--json"],
        cwd=shop,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if moment == "the imports":
        wait_until(lambda: "pydantic_core" in _mapped(run.pid), unless=run.poll, every=0.01)
    else:
        wait_until(lambda: "libjvm.so" in _mapped(*_children(run.pid)), unless=run.poll, every=0.01)
    os.killpg(run.pid, signal.SIGINT)
    # The pipes are closed when Java has ended too, which inherits them.
    told = run.communicate(timeout=120)[1]
    assert run.returncode == 130
    assert told == "Stopped. Nothing is lost.\n"


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _mapped(*processes: int) -> str:
    """The libraries that processes have loaded."""
    loaded = ""
    for process in processes:
        with suppress(OSError):  # It may have ended since it was listed.
            loaded += Path(f"/proc/{process}/maps").read_text()
    return loaded


@pytest.mark.slow
def test_a_second_run_of_the_same_warehouse_is_refused(shop: Path) -> None:
    use_catalog(shop)
    first = subprocess.Popen(
        [sys.executable, "-m", "freshtide", "run", "--for", "60s", "--json"],
        cwd=shop,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        look = RunLock(lease_folder(shop / "warehouse"))
        wait_until(lambda: (holder := look.holder()) is not None and holder.pid == first.pid, unless=first.poll)
        done = freshtide("run", "--once", at=shop)
        assert done.returncode == 1
        assert str(first.pid) in done.stderr
        assert "paused" in answer("pause", "large_orders", at=shop)["message"]
        answer("resume", "large_orders", at=shop)
    finally:
        first.terminate()
        assert first.wait(60) == 0


HELD = """
import time
from pathlib import Path

from freshtide import materialized_view


@materialized_view(priority=100, time_column="ordered_at", maintain="append")
def held(orders):
    while Path("{flag}").exists():
        time.sleep(0.05)
    return orders.select("ordered_at", "amount")
"""


@pytest.mark.slow
def test_while_updates_wait_explain_tells_for_what(tmp_path: Path) -> None:
    folder, flag = tmp_path / "shop", tmp_path / "hold"
    create_starter(folder, "shop")
    (folder / "tables" / "held.py").write_text(HELD.format(flag=flag))
    settings = (folder / "freshtide.yml").read_text()
    (folder / "freshtide.yml").write_text(re.sub(r"(?m)^tracks:.*$", "", settings) + "\ntracks: 1\n")
    assert freshtide_process("run", "--once", at=folder).returncode == 0
    run = subprocess.Popen(
        [sys.executable, "-m", "freshtide", "run", "--for", "150s", "--json"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        trace = folder / ".freshtide" / "trace.jsonl"
        wait_until(lambda: trace.read_text().count('"begins"') == 2, unless=run.poll)
        flag.touch()
        new = folder / "landing" / "orders" / "new.csv"
        new.write_text("order_id,ordered_at,customer,amount\n9001,2026-06-01T12:00:00Z,zoe,500.00\n")
        told: dict[str, Any] = {}

        def waiting() -> bool:
            told.update(answer("explain", "orders_per_hour", at=folder))
            return bool(told["waits"] == "home track 0 ('held') is busy")

        wait_until(waiting, unless=run.poll, every=0.2)
        assert told["lane"]["home"] == [0]
        assert told["benefit"] > 0.0
        assert any(sentence == "It waits: home track 0 ('held') is busy." for sentence in told["sentences"])
        assert answer("explain", "held", at=folder)["waits"] is None
        parent = answer("explain", "orders", at=folder)["priority"]
        assert (parent["scheduled"], parent["inherited_from"]) == (100.0, ["held"])
    finally:
        flag.unlink(missing_ok=True)
        run.terminate()
        assert run.wait(60) == 0
    assert answer("trace", "replay", at=folder)["same"]
