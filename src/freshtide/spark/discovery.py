"""Columns that files have and their feed does not declare."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Column, Feed
from freshtide.spark.failures import UnreadableFilesError
from freshtide.spark.formats import spark_format


def discovered_columns(
    session: SparkSession, feed: Feed, files: Sequence[Arrival], known: Sequence[Column]
) -> tuple[Column, ...]:
    """Columns of the files that are new to the feed, in order of appearance; `known` are those that it has gained.

    A format that says nothing about types has strings. Spark does not tell names apart by case: a file that spells a
    column in another way than those before it is not read.
    """
    spelt = {name.lower(): name for name in (*feed.column_names, *(column.name for column in known))}
    found: dict[str, Column] = {}
    misspelt: list[tuple[Arrival, str]] = []
    for file in files:
        names = [name for name in file.columns or () if name.strip()]
        if otherwise := [name for name in names if spelt.get(name.lower(), name) != name]:
            before = ", ".join(f"'{name}' is '{spelt[name.lower()]}'" for name in otherwise)
            reason = f"It spells columns otherwise than files before it, and case alone makes no column: {before}."
            misspelt.append((file, f"{reason} Mend it, then `freshtide feeds retry`."))
            continue
        new = [name for name in names if name.lower() not in spelt]
        types = spark_format(feed).column_types(session, file) if new else {}
        found |= {name: Column(name=name, type=types.get(name, "string")) for name in new}
        spelt |= {name.lower(): name for name in new}
    if misspelt:
        raise UnreadableFilesError(misspelt)
    return tuple(found.values())
