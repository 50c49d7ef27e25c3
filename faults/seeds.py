"""Many runs by their seeds, in as many processes as there are cores for them."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from faults.campaign import Story, run
from faults.guards import GUARDS
from faults.trouble import Lean

# Few enough that progress is seen, and enough that handing them out takes no time.
_AT_ONCE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A run in which something did not hold."""

    seed: int
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What came of some seeds."""

    stories: tuple[Story, ...]
    failures: tuple[Failure, ...]
    seconds: float
    """Of a core."""

    @property
    def runs(self) -> int:
        return len(self.stories) + len(self.failures)


def run_all(
    seeds: range, *, jobs: int, verbose: bool = False, without: str | None = None, lean: Lean | None = None
) -> Iterator[Batch]:
    """Run the seeds, some at once, in so many processes, `without` a guard; what is done first comes first."""
    run_some = partial(_run_some, lean=lean)
    portions = [seeds[start : start + _AT_ONCE] for start in range(0, len(seeds), _AT_ONCE)]
    if jobs == 1:
        _prepare(verbose, without)
        yield from map(run_some, portions)
        return
    # Forked where others have threads or open databases, a process might wait for them for ever.
    processes = multiprocessing.get_context("spawn")
    with processes.Pool(jobs, initializer=_prepare, initargs=(verbose, without)) as pool:
        yield from pool.imap_unordered(run_some, portions)


def _prepare(verbose: bool, without: str | None) -> None:
    if without is not None:
        GUARDS[without]().__enter__()  # For as long as the process lives.
    logging.basicConfig(level=logging.WARNING if verbose else logging.CRITICAL + 1)
    # What is there from the start stays: looking through it for garbage again and again takes a fifth of the time.
    gc.collect()
    gc.freeze()
    gc.disable()


def _run_some(seeds: range, *, lean: Lean | None) -> Batch:
    stories: list[Story] = []
    failures: list[Failure] = []
    begun = time.process_time()
    for seed in seeds:
        try:
            stories.append(run(seed, lean))
        except Exception:
            failures.append(Failure(seed=seed, told=traceback.format_exc()))
    gc.collect()  # A world is full of circles, and all of it is over at once.
    return Batch(stories=tuple(stories), failures=tuple(failures), seconds=time.process_time() - begun)
