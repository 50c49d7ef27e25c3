"""What is known of a feed's files beside what Spark reads of them. It is looked up where files are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from freshtide.core.files import FeedFile
from freshtide.core.tables import Feed

RecordLines = Callable[[Feed, FeedFile], Sequence[bytes] | None]
"""The lines of a CSV file that are its records; None where Spark had better read it."""
Unchanged = Callable[[], None]
"""Raises where files are not what they were any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Questions about files."""

    record_lines: RecordLines
    holds_odd_lines: Callable[[Feed, FeedFile], bool]
    """Whether a JSON file has lines of which Spark's reader would make no row, several, or one without saying what it
    left out: such a file is parsed line by line."""
    holds_times_of_day: Callable[[Feed, FeedFile], bool]
    """Whether a CSV or JSON file may have a time of day where an instant is expected."""
    nanoseconds: Callable[[FeedFile], frozenset[tuple[str, ...]]]
    """Where in a Parquet file there are times in a unit that Spark has no type for: names of columns and, within them,
    of fields, in lower case, `element`, `key` and `value`."""
    watched: Callable[[Sequence[FeedFile]], Unchanged]
    """Begin to watch files; what is returned is asked once they have been read, before anything is committed."""
