"""Columns that files have and their feed does not declare."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from freshtide.core.files import FeedFile
from freshtide.core.tables import Column, Feed, FileFormat
from freshtide.spark.contents import Contents
from freshtide.spark.unreadable import UnreadableFilesError


def discovered_columns(
    session: SparkSession, feed: Feed, files: Sequence[FeedFile], known: Sequence[Column], contents: Contents
) -> tuple[Column, ...]:
    """Columns of the files that are new to the feed, in order of appearance; `known` are those that it has gained.

    CSV and JSON say nothing about types, so these are strings; Parquet files know theirs. Spark does not tell names
    apart by case: a file that spells a column in another way than those before it is not read.
    """
    spelt = {name.lower(): name for name in (*feed.column_names, *(column.name for column in known))}
    found: dict[str, Column] = {}
    misspelt: list[tuple[FeedFile, str]] = []
    for file in files:
        names = [name for name in file.columns or () if name.strip()]
        if otherwise := [name for name in names if spelt.get(name.lower(), name) != name]:
            before = ", ".join(f"'{name}' is '{spelt[name.lower()]}'" for name in otherwise)
            reason = f"It spells columns otherwise than files before it, and case alone makes no column: {before}."
            misspelt.append((file, f"{reason} Mend it, then `freshtide feeds retry`."))
            continue
        new = [name for name in names if name.lower() not in spelt]
        types = _parquet_types(session, file, contents) if new and feed.format is FileFormat.PARQUET else {}
        found |= {name: Column(name=name, type=types.get(name, "string")) for name in new}
        spelt |= {name.lower(): name for name in new}
    if misspelt:
        raise UnreadableFilesError(misspelt)
    return tuple(found.values())


def _parquet_types(session: SparkSession, file: FeedFile, contents: Contents) -> dict[str, str]:
    """The types of a file's columns in a table: all times there are instants in microseconds."""
    types = {field.name: field.dataType.simpleString() for field in session.read.parquet(file.path).schema}
    nanoseconds = contents.nanoseconds(file)
    times = {name for name, type_ in types.items() if type_ == "timestamp_ntz" or (name.lower(),) in nanoseconds}
    return types | dict.fromkeys(times, "timestamp")
