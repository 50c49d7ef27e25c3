"""One moment for a whole run: `current_timestamp()` and its like are the same in every activity, pack and target.

Spark fixes the time for each query that it carries out, and a flow is many queries. So the time is written into the
texts of activities. What is no text (a function of the user's, the query of a table) is fixed when its plan is made:
all that take its rows take the same time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from freshtide.core.instants import micros
from freshtide.flows import Activity
from freshtide.flows.activities import Aggregate, Expression, Filter, Pivot, Router
from freshtide.spark.reading import instant

# What is quoted or a comment is passed over; so is what belongs to a name with a dot in it.
_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/"""
    r"|(?<![\w.])(?P<name>current_timestamp|localtimestamp|now|current_date|curdate|unix_timestamp)\b"
    r"(?P<call>\s*\(\s*\))?(?!\s*\()",
    re.IGNORECASE | re.DOTALL,
)
# SQL lets these be written without brackets.
_BARE = ("current_timestamp", "localtimestamp", "current_date")


@dataclass(frozen=True, slots=True)
class Moment:
    """When a run takes place, in seconds since the epoch."""

    at: float

    def in_texts(self, activity: Activity, columns: Collection[str]) -> Activity:
        """The activity with the moment in its texts; a name without brackets may be one of the columns."""
        fixed = partial(self.in_text, columns={column.lower() for column in columns})
        match activity:
            case Filter(condition=condition):
                return replace(activity, condition=fixed(condition))
            case Expression(columns=texts) | Aggregate(columns=texts) | Pivot(columns=texts):
                return replace(activity, columns=_each(texts, fixed))
            case Router(routes=texts):
                return replace(activity, routes=_each(texts, fixed))
        return activity

    def in_text(self, text: str, *, columns: Collection[str] = ()) -> str:
        """An SQL expression with the moment instead of functions that ask for it."""
        now = instant(micros(self.at))
        written = {
            "current_timestamp": now,
            "now": now,
            "localtimestamp": f"CAST({now} AS TIMESTAMP_NTZ)",
            "current_date": f"CAST({now} AS DATE)",
            "curdate": f"CAST({now} AS DATE)",
            "unix_timestamp": f"unix_timestamp({now})",
        }

        def fixed(token: re.Match[str]) -> str:
            name = (token["name"] or "").lower()
            is_function = token["call"] is not None or (name in _BARE and name not in columns)
            return written[name] if name and is_function else token[0]

        return _TOKEN.sub(fixed, text)


ANY_MOMENT = Moment(0.0)
"""For what is only analysed."""


def fixed_time(frame: DataFrame) -> DataFrame:
    """The rows with the time as it is now, whenever they are computed."""
    inner: Any = frame
    session = frame.sparkSession
    spark = session.sparkContext._jvm.org.apache.spark  # type: ignore[union-attr]
    plan = inner._jdf.queryExecution().analyzed()
    fixed = spark.sql.catalyst.optimizer.ComputeCurrentTime.apply(plan)
    if fixed.fastEquals(plan):
        return frame
    datasets = getattr(getattr(spark.sql.classic, "Dataset$"), "MODULE$")
    return DataFrame(datasets.ofRows(session._jsparkSession, fixed), session)


def _each(texts: Mapping[str, str], fixed: Callable[[str], str]) -> dict[str, str]:
    return {name: fixed(text) for name, text in texts.items()}
