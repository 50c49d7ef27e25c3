"""Columns that files have and their feed does not declare."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Column, Feed
from freshtide.feeds import RETRY
from freshtide.spark.failures import SPARK_ERRORS, UnreadableFilesError
from freshtide.spark.formats import spark_format
from freshtide.spark.unreadable import KnownGood


def discovered_columns(
    session: SparkSession, feed: Feed, files: Sequence[Arrival], known: Sequence[Column], *, known_good: KnownGood
) -> tuple[Column, ...]:
    """Columns of the files that are new to the feed, in order of appearance; `known` are those that it has gained.

    A format that says nothing about types has strings. Spark does not tell names apart by case: a file that spells a
    column in another way than those before it is not read, and neither is one with a column that no table can have.
    """
    spelt = {name.lower(): name for name in (*feed.column_names, *(column.name for column in known))}
    found: dict[str, Column] = {}
    refused: list[tuple[Arrival, str]] = []
    for file in files:
        names = [name for name in file.columns or () if name.strip()]
        if otherwise := [name for name in names if spelt.get(name.lower(), name) != name]:
            before = ", ".join(f"'{name}' is '{spelt[name.lower()]}'" for name in otherwise)
            reason = f"It spells columns otherwise than files before it, and case alone makes no column: {before}."
            refused.append((file, f"{reason} Mend it, then {RETRY}."))
            continue
        new = [name for name in names if name.lower() not in spelt]
        try:
            types = spark_format(feed).column_types(session, file) if new else {}
        except UnreadableFilesError as error:
            refused += error.reasons
            continue
        except SPARK_ERRORS as error:
            refused.append((file, known_good.fault_of(file, error)))
            continue
        found |= {name: Column(name=name, type=types.get(name, "string")) for name in new}
        spelt |= {name.lower(): name for name in new}
    if refused:
        raise UnreadableFilesError(refused)
    return tuple(found.values())
