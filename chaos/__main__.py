"""python -m chaos [--minutes N] [--kills N] [--seed N]; ends with 1 on anything wrong, or if it proves nothing."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from chaos.campaign import Campaign, Orders

# Runs are short: a JVM that compiles lightly is at work in half the time. In the environment, for theirs as well.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m chaos", description="Kill a warehouse again and again.")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to go on (default: 10)")
    parser.add_argument("--kills", type=int, help="end after so many kills")
    parser.add_argument("--seed", type=int, help="what is supplied and when is killed (default: a new one)")
    parser.add_argument("--check-every", type=int, default=50, metavar="KILLS", help="how often to check everything")
    parser.add_argument("--cold-every", type=int, default=20, metavar="KILLS", help="how often to kill the JVM as well")
    parser.add_argument("--rivals-every", type=int, default=50, metavar="KILLS", help="how often two runs compete")
    parser.add_argument("--interval", type=float, default=5.0, help="seconds between the files of a feed")
    parser.add_argument(
        "--least", type=int, default=3, metavar="KILLS", help="fewer at named points than this are a failure, too"
    )
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    orders = Orders(
        seed=seed,
        until=time.monotonic() + 60 * options.minutes,
        least=options.least,
        kills=options.kills,
        check_every=options.check_every,
        cold_every=options.cold_every,
        rivals_every=options.rivals_every,
        interval=options.interval,
        # The variable that the tests use as well: a server that may be emptied.
        catalog=os.environ.get("FRESHTIDE_TEST_CATALOG"),
    )
    folder = Path(tempfile.mkdtemp(prefix="freshtide-chaos-"))
    print(f"seed {seed}, in {folder}", flush=True)
    begun = time.monotonic()
    campaign = Campaign(
        folder, orders, tell=lambda text: print(f"{time.monotonic() - begun:5.0f} s  {text}", flush=True)
    )
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: campaign.end_soon())
    outcome = campaign.carry_out()
    points = ", ".join(f"{point} {count}" for point, count in sorted(outcome.kills.items()))
    print(f"\n{outcome.kills.total()} kills ({points})")
    print(f"{outcome.contests} contests between two runs, {outcome.checks} checks at rest")
    minutes = (time.monotonic() - begun) / 60
    print(f"{outcome.rows:,} rows, {outcome.commits:,} commits, {minutes:.1f} minutes, seed {seed}")
    for sentence in outcome.wrong:
        print(f"WRONG: {sentence}")
    if outcome.wrong:
        print(f"The warehouse and the log of its runs are kept in {folder}.")
        return 1
    if outcome.at_points < options.least:
        print(f"Fewer than {options.least} kills at named points prove nothing: give it more time.")
        return 1
    print("Each row is exactly once where it belongs, views are their queries, freshness never went back.")
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
