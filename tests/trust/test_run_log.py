"""What a run without a terminal says while it goes on, where its tracebacks are, and how it ends at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from freshtide.project import create_starter
from tests.waiting import wait_until

_BROKEN = "CREATE MATERIALIZED VIEW broken AS SELECT ordered_at, CAST(customer AS INT) AS n FROM orders\n"
_SLOW = """
import time

from pyspark.sql import functions as sf

from freshtide import table


@table(feed="orders_feed")
def slow(rows):
    wait = sf.udf(lambda text: time.sleep(60) or text, "string")
    # One task: the others' need room too.
    return rows.coalesce(1).withColumn("customer", wait("customer"))
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_failures_are_told_when_they_happen_and_a_second_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    create_starter(root, "shop")
    (root / "tables" / "broken.sql").write_text(_BROKEN)
    (root / "tables" / "slow.py").write_text(_SLOW)
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("w") as stdout, err.open("w") as stderr:
        run = subprocess.Popen(
            [sys.executable, "-m", "freshtide", "run"], cwd=root, stdout=stdout, stderr=stderr, start_new_session=True
        )
    try:
        wait_until(lambda: "An update of 'broken' failed" in out.read_text(), unless=run.poll)
        assert "freshtide.log" in out.read_text()
        log = (root / ".freshtide" / "freshtide.log").read_text()
        assert "The update of 'broken' failed." in log
        assert "Traceback" in log
        run.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert run.poll() is None, "the update of 'slow' is waited for"
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=20) == 130
    finally:
        run.kill()
    assert err.read_text().splitlines()[-1] == "Ended at once. Nothing is lost: the next run repeats what was going on."
    assert "Traceback" not in err.read_text()
    assert "py4j" not in err.read_text()
