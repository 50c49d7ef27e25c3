"""The rows of files as rows of their feed, with what is needed to judge them."""

from __future__ import annotations

from collections.abc import Sequence

from freshtide.core.feeds import Column, Feed
from freshtide.spark.formats import Layout
from freshtide.spark.formats.format import NO_TEXT
from freshtide.spark.schemas import quoted
from freshtide.spark.verdicts import UNNAMED

TIME_TEXT = "_time_text"


def parsed_values(feed: Feed, columns: Sequence[Column], layout: Layout, *, unnamed: bool) -> list[str]:
    """The feed's columns out of what was read, and beside them what is needed to judge a row.

    `unnamed` says that some files of the batch have values without a column.
    """
    there = {column.name for column in layout.present}
    values = [
        layout.value(column) if column.name in there else f"CAST(NULL AS {column.type}) AS {quoted(column.name)}"
        for column in columns
    ]
    values.append(layout.content)
    if feed.time.format is not None:
        time = f"CAST({quoted(feed.time.column)} AS STRING)" if feed.time.column in there else NO_TEXT
        values.append(f"{time} AS {TIME_TEXT}")
    if unnamed:
        parts = ", ".join(map(quoted, layout.unnamed))
        values.append(f"{f'coalesce({parts})' if parts else NO_TEXT} AS {UNNAMED}")
    return values
