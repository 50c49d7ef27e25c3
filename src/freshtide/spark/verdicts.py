"""Which rows of a feed fit: the conditions as SQL, and how many rows met them as they were read.

Spark parses only the columns that a plan refers to and finds only their errors, and it simplifies conditions. What
becomes of a row must not hang on what a query selects, so the condition refers to every column, in a way that cannot be
simplified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sf

from freshtide.core.feeds import Column, Feed
from freshtide.spark.jvm import collected, observed
from freshtide.spark.schemas import effective_type, quoted
from freshtide.spark.unstorable import Fault, faults_of

CONTENT, UNNAMED = "_content", "_unnamed"
_VERDICT, _TIME = "_verdict", "_time"


class Verdict(IntEnum):
    GOOD = 0
    REJECTED = 1
    LATE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many rows were read, and what was found of them. `low` and `high` bound the times of those that fit."""

    read: int = 0
    rejected: int = 0
    late: int = 0
    low: int | None = None
    high: int | None = None


def unfit_conditions(
    feed: Feed,
    columns: Sequence[Column],
    *,
    is_parsed: bool,
    partitions: Sequence[str] = (),
    unnamed: bool = False,
) -> list[str]:
    """Conditions of which any makes a row unfit; each is true or false, never null.

    With `is_parsed` a row may be text that could not be parsed. `partitions` are columns that become names of folders.
    With `unnamed` there may be values without a column.
    """
    conditions = [f"{quoted(column.name)} IS NULL" for column in columns if is_required(feed, column)]
    if is_parsed:
        empty = " + ".join(f"CAST({quoted(column.name)} IS NULL AS INT)" for column in columns)
        conditions = [f"{CONTENT} IS NOT NULL", *conditions, f"{empty} > {len(columns)}"]
    if unnamed:
        conditions.append(f"{UNNAMED} IS NOT NULL")
    return [*conditions, *(fault.condition for fault in unstorable(feed, columns, partitions))]


def is_required(feed: Feed, column: Column) -> bool:
    return not column.nullable or column.name == feed.time.column


def unstorable(feed: Feed, columns: Sequence[Column], partitions: Sequence[str]) -> list[Fault]:
    """What values of these columns no table can hold."""
    return faults_of({column.name: effective_type(feed, column) for column in columns}, partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """When a row does not fit and when it is late, and the time that it bears."""

    unfit: str
    late: str
    time: str

    @property
    def good(self) -> str:
        return f"NOT ({self.unfit}) AND NOT ({self.late})"

    def tally(self, frame: DataFrame) -> Tally:
        """Count the rows of a frame."""
        (row,) = frame.selectExpr(*(f"{value} AS {name}" for name, value in self._figures.items())).collect()
        return Tally(**row.asDict())

    def tally_in_place(self, frame: DataFrame) -> Tally:
        """The same for few rows that Spark was handed: their verdicts are fetched without a job, and counted here."""
        verdict = (
            f"CASE WHEN {self.unfit} THEN {int(Verdict.REJECTED)} "
            f"WHEN {self.late} THEN {int(Verdict.LATE)} ELSE {int(Verdict.GOOD)} END AS {_VERDICT}"
        )
        rows = collected(frame.selectExpr(verdict, f"{self.time} AS {_TIME}"))
        verdicts = rows.column(_VERDICT)
        is_fit = pc.not_equal(verdicts, pa.scalar(int(Verdict.REJECTED), verdicts.type))
        times = pc.min_max(rows.column(_TIME).filter(is_fit)).as_py()
        found: Mapping[int, int] = {item["values"]: item["counts"] for item in pc.value_counts(verdicts).to_pylist()}
        return Tally(
            read=rows.num_rows,
            rejected=found.get(Verdict.REJECTED, 0),
            late=found.get(Verdict.LATE, 0),
            low=times["min"],
            high=times["max"],
        )

    def watched(self, frame: DataFrame) -> tuple[DataFrame, Watch]:
        """The frame, whose rows are counted on their way through it to wherever they go."""
        observation = Observation()
        counted = frame.observe(observation, *(sf.expr(value).alias(name) for name, value in self._figures.items()))
        return counted, Watch(observation, tuple(self._figures))

    @property
    def _figures(self) -> dict[str, str]:
        time_if_fit = f"CASE WHEN {self.unfit} THEN NULL ELSE {self.time} END"
        return {
            "read": "count(1)",
            "rejected": f"count_if({self.unfit})",
            "late": f"count_if(NOT ({self.unfit}) AND ({self.late}))",
            "low": f"min({time_if_fit})",
            "high": f"max({time_if_fit})",
        }


class Watch:
    """Tells how many rows have passed, once they have."""

    def __init__(self, observation: Observation, figures: Sequence[str]) -> None:
        self._observation = observation
        self._figures = figures

    @property
    def tally(self) -> Tally | None:
        """What was counted; None where Spark saw beforehand that it need not read."""
        figures = observed(self._observation, self._figures)
        return None if figures is None else Tally(**figures)
