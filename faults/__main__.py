"""`python -m faults`: runs of the real runtime in simulated worlds, by seeds."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from typing import get_args

from faults.campaign import play
from faults.guards import GUARDS, without
from faults.seeds import Batch, run_all
from faults.trouble import Lean
from faults.world import World

_TOLD_EVERY = 100
# Of a long campaign so many lines are enough.
_TOLD_AT_MOST = 100


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    options.add_argument(
        "--seeds", type=int, default=None, help="how many runs: 100, or one where its history is wanted"
    )
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--jobs", type=int, default=1, help="how many processes run them")
    options.add_argument("--history", action="store_true", help="print what happens in each run, in virtual time")
    options.add_argument("--without", choices=GUARDS, help="take out a guard, and end when that is found")
    options.add_argument("--lean", choices=get_args(Lean), help="what the runs are to have much of")
    options.add_argument("--verbose", action="store_true", help="print what the warehouse logs")
    given = options.parse_args()
    given.seeds = given.seeds or (1 if given.history else 100)
    seeds = range(given.first, given.first + given.seeds)
    if given.history:
        return _tell(seeds, given.without, given.lean)
    begun, done = time.perf_counter(), []
    told, every = 0, max(_TOLD_EVERY, given.seeds // _TOLD_AT_MOST)
    for batch in run_all(seeds, jobs=given.jobs, verbose=given.verbose, without=given.without, lean=given.lean):
        done.append(batch)
        for failure in batch.failures:
            print(failure.told)
            again = f"--first {failure.seed}" + (f" --lean '{given.lean}'" if given.lean else "")
            print(f"Seed {failure.seed} went wrong; `python -m faults {again} --history` tells how.")
        if given.without and batch.failures:
            break
        runs = sum(batch.runs for batch in done)
        if runs // every > told:
            told = runs // every
            print(f"{runs} runs, {len(_wrong(done))} wrong", flush=True)
    print(_summary(done, first=given.first, seconds=time.perf_counter() - begun, jobs=given.jobs))
    return 1 if bool(_wrong(done)) is not bool(given.without) else 0


def _tell(seeds: range, guard: str | None, lean: Lean | None) -> int:
    """The history of each run, and what is wrong in the end."""
    wrong = 0
    for seed in seeds:
        world = World(seed)
        try:
            with without(guard) if guard else nullcontext():
                play(world, lean)
        except Exception as error:
            wrong += 1
            world.history.note("WRONG", f"seed {seed}: {error}")
        print("\n".join(world.history.lines()))
    return 1 if wrong else 0


def _wrong(done: list[Batch]) -> list[int]:
    return sorted(failure.seed for batch in done for failure in batch.failures)


def _summary(done: list[Batch], *, first: int, seconds: float, jobs: int) -> str:
    stories = [story for batch in done for story in batch.stories]
    runs, wrong = sum(batch.runs for batch in done), _wrong(done)
    updates, faults, lives = (sum(getattr(story, what) for story in stories) for what in ("updates", "faults", "lives"))
    busy = sum(batch.seconds for batch in done)
    lines = [
        f"{runs} runs from seed {first}, with {updates} updates, {faults} faults and {lives} lives: "
        f"{len(wrong)} went wrong.",
        f"{runs / seconds / jobs:.1f} runs a second and core ({busy / max(runs, 1):.3f} seconds of a core each).",
    ]
    return "\n".join(lines + ([f"Wrong: {', '.join(map(str, wrong))}."] if wrong else []))


if __name__ == "__main__":
    sys.exit(main())
