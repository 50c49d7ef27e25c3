"""`python -m faults`: runs of the real runtime in simulated worlds, by seeds."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback

from faults.campaign import run

_TOLD_EVERY = 100


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    options.add_argument("--seeds", type=int, default=100, help="how many runs")
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--verbose", action="store_true", help="print what the warehouse logs")
    given = options.parse_args()
    logging.basicConfig(level=logging.WARNING if given.verbose else logging.CRITICAL + 1)
    begun, updates, wrong = time.perf_counter(), 0, []
    for seed in range(given.first, given.first + given.seeds):
        try:
            updates += run(seed).updates
        except Exception:
            wrong.append(seed)
            print(f"Seed {seed} went wrong; `make simulate-faults FIRST={seed} SEEDS=1` repeats it.")
            traceback.print_exc()
        if (seed + 1 - given.first) % _TOLD_EVERY == 0:
            print(f"{seed + 1 - given.first} runs, {len(wrong)} wrong")
    seconds = time.perf_counter() - begun
    print(
        f"{given.seeds} runs from seed {given.first}, {updates} updates, {given.seeds / seconds:.1f} runs a second: "
        f"{len(wrong)} went wrong."
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
