"""What values a table can hold, and how those of partition columns are written in its log and in names of folders.

Spark asks the same of its rows, so the limits and the words about what breaks them are part of the face. How whole rows
are written to files is not in here.
"""

from freshtide.storage.values.partitions import (
    ESCAPED,
    LIKE_MISSING,
    LIKE_NONE,
    LONGEST_NAME,
    NO_NAME,
    TOO_LONG,
    by_partition,
    folder_of,
    serialised,
    value_of,
)
from freshtide.storage.values.years import BEYOND_YEARS, require_storable_times, within_years

__all__ = [
    "BEYOND_YEARS",
    "ESCAPED",
    "LIKE_MISSING",
    "LIKE_NONE",
    "LONGEST_NAME",
    "NO_NAME",
    "TOO_LONG",
    "by_partition",
    "folder_of",
    "require_storable_times",
    "serialised",
    "value_of",
    "within_years",
]
