"""`python -m guards`: takes each guard of docs/guarantees.md out once; ends with 1 unless tests find all of them.

All of them take an hour and a half or so on two cores, most of it for Spark.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from guards.mutants import Guard, guards
from guards.trials import Verdict, fails_as_it_is, try_out

_WIDTH = 100


def main() -> int:
    options = argparse.ArgumentParser(
        prog="python -m guards", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--part", help="guards of one part of the page only, such as 'Commits'")
    options.add_argument("--only", metavar="TEXT", help="guards only whose promise, reason or file has this text")
    options.add_argument("--list", action="store_true", help="name the guards, and try none")
    options.add_argument("--unchecked", action="store_true", help="do not run the tests over the source as it is first")
    given = options.parse_args()
    chosen = [guard for guard in guards() if _is_chosen(guard, part=given.part, text=given.only)]
    if not chosen:
        print("No guard is called like that; --list names them.")
        return 1
    # Those that need no Spark first: they have their verdict within seconds.
    chosen.sort(key=lambda guard: any(test.needs_spark for test in guard.tests))
    if given.list:
        for guard in chosen:
            print(f"{guard.promise.part}: {guard.promise.text}\n    {guard.because}")
        return 0
    if not given.unchecked and not _all_pass(chosen):
        return 1
    return _try_all(chosen)


def _all_pass(chosen: list[Guard]) -> bool:
    """Whether all tests pass over the source as it is: one that fails anyway finds any guard."""
    tests = sorted({test for guard in chosen for test in guard.tests}, key=str)
    print(f"{len(tests)} tests over the source as it is ...", flush=True)
    failed = fails_as_it_is(tests)
    if failed is not None:
        print(f"{failed[0]} fails though nothing was taken out: {failed[1]}")
    return failed is None


def _is_chosen(guard: Guard, *, part: str | None, text: str | None) -> bool:
    said = " ".join([guard.promise.text, guard.because, *(edit.file for edit in guard.edits)])
    return (part is None or guard.promise.part.casefold().startswith(part.casefold())) and (
        text is None or text.casefold() in said.casefold()
    )


def _try_all(chosen: list[Guard]) -> int:
    begun, verdicts = time.monotonic(), Counter[Verdict]()
    for guard in chosen:
        outcome = try_out(guard)
        verdicts[outcome.verdict] += 1
        print(f"{outcome.verdict:9} {outcome.seconds:4.0f} s  {guard.promise.text}", flush=True)
        print(f"{'':17}without: {guard.because}")
        if outcome.verdict is Verdict.FOUND:
            print(f"{'':17}by: {outcome.test}: {outcome.detail.partition(chr(10))[0][:_WIDTH]}")
        elif outcome.verdict is Verdict.ERROR:
            print(outcome.detail)
    minutes = (time.monotonic() - begun) / 60
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    print(f"\n{len(chosen)} guards taken out in {minutes:.0f} minutes: {told}.")
    return 0 if verdicts[Verdict.FOUND] == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
