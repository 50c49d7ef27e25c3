"""Cases by their seeds: what was tried, what went wrong, and which operators stood on which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from freshtide.spark.incremental import NotIncrementalError
from tests.spark.incremental.content import TABLES
from tests.spark.incremental.queries import OPERATORS, Query, query
from tests.spark.incremental.trial import Outcome, try_out

_STEPS, _STEPS_OF_SWITCHES = 2, 4
_SWITCHING = 4
"""One of so many cases is computed in full now and then."""


@dataclass(slots=True)
class Tally:
    """What a campaign has seen so far."""

    cases: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    from_changes: int = 0
    wrong: list[int] = field(default_factory=list)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, case: Query, outcome: Outcome) -> None:
        self.steps += outcome.steps
        self.from_changes += outcome.from_changes
        self.pairs.update(case.pairs)

    def summary(self) -> str:
        done = self.cases - sum(self.refused.values())
        lines = [
            f"{self.cases} cases, {len(self.wrong)} wrong. {done} were maintained, "
            f"{self.from_changes} of their {self.steps} steps from changes.",
            *(f"Refused {times} times: {why}." for why, times in self.refused.most_common()),
        ]
        return "\n".join([*lines, "", self.covered()])

    def covered(self) -> str:
        """A table: how often the operator of a column stood on that of a row."""
        below = ("table", *OPERATORS)
        missing = [f"{upper} on {lower}" for lower in below for upper in OPERATORS if not self.pairs[lower, upper]]
        wide = max(map(len, below))
        head = " " * wide + "".join(f"{at:>5}" for at in range(1, len(OPERATORS) + 1))
        rows = [
            f"{lower:<{wide}}" + "".join(f"{self.pairs[lower, upper] or '.':>5}" for upper in OPERATORS)
            for lower in below
        ]
        legend = ", ".join(f"{at} {name}" for at, name in enumerate(OPERATORS, start=1))
        total = len(below) * len(OPERATORS)
        share = f"{total - len(missing)} of {total} pairs of an operator and the one above it were tried."
        return "\n".join([f"Above: {legend}", head, *rows, share])


def run(spark: SparkSession, seeds: range, tally: Tally) -> Iterator[tuple[int, Exception | None]]:
    """Try the case of each seed; what went wrong with it, if anything did."""
    for seed in seeds:
        tally.cases += 1
        try:
            case, outcome = run_one(spark, seed)
            tally.add(case, outcome)
        except NotIncrementalError as refusal:
            tally.refused[refusal.operator] += 1
        except Exception as error:
            tally.wrong.append(seed)
            yield seed, error
            continue
        yield seed, None


def run_one(spark: SparkSession, seed: int) -> tuple[Query, Outcome]:
    case = query(seed, TABLES)
    with TemporaryDirectory() as folder:
        switches = seed % _SWITCHING == 0
        steps = _STEPS_OF_SWITCHES if switches else _STEPS
        return case, try_out(spark, case.text, seed=seed, folder=Path(folder), steps=steps, switches=switches)
