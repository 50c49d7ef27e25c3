"""`python -m tests.spark.incremental`: queries at random over tables that move, by seeds."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from freshtide.spark import start_session
from freshtide.spark.sessions import working_session
from tests.spark.incremental.campaign import Tally, run
from tests.spark.incremental.content import TABLES
from tests.spark.incremental.queries import query

_TOLD_EVERY = 50
_INTERPRETED = {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}
"""Spark would compile Java for each query, which takes longer than the few rows do."""
_LIGHTLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
"""And so does a JVM that compiles with all its might."""
_LINES = 4
"""Of a message of Spark: what follows is where it was in Java."""


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.spark.incremental", description=__doc__)
    options.add_argument("--cases", type=int, default=100, help="how many queries")
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--show", action="store_true", help="print the text of each query")
    given = options.parse_args()
    os.environ.setdefault("JAVA_TOOL_OPTIONS", _LIGHTLY)
    tally, begun = Tally(), time.perf_counter()
    with TemporaryDirectory() as folder:
        spark = start_session({"spark.master": "local[2]", **_INTERPRETED}, log=Path(folder) / "spark.log")
        session = working_session(spark, compiled=False)
        # Who has seen enough is told what was seen.
        with suppress(KeyboardInterrupt):
            for seed, error in run(session, range(given.first, given.first + given.cases), tally):
                if given.show:
                    print(f"{seed}: {query(seed, TABLES).text}")
                if error is not None:
                    told = "\n".join(str(error).splitlines()[:_LINES])
                    print(f"Seed {seed} went wrong: {query(seed, TABLES).text}\n{type(error).__name__}: {told}")
                    print(
                        f"`python -m tests.spark.incremental --first {seed} --cases 1 --show` repeats it.", flush=True
                    )
                if tally.cases % _TOLD_EVERY == 0:
                    print(f"{tally.cases} cases, {len(tally.wrong)} wrong", flush=True)
        spark.stop()
    print(tally.summary())
    print(f"{(time.perf_counter() - begun) / max(tally.cases, 1):.2f} seconds a case.")
    if tally.wrong:
        print(f"Wrong: {', '.join(map(str, tally.wrong))}.")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
