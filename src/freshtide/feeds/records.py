"""What is to be known of a file's records before they are parsed."""

from __future__ import annotations

from collections.abc import Callable

from freshtide.core.files import FeedFile
from freshtide.core.tables import Feed, FileFormat
from freshtide.feeds import csvfiles, jsonfiles, parquetfiles
from freshtide.feeds.errors import UnreadableFileError, VanishedFileError
from freshtide.feeds.rawfiles import RawFile


def record_lines(feed: Feed, file: FeedFile) -> list[bytes] | None:
    """The lines of a CSV file that are its records, in UTF-8.

    None where a record is not just a line, and where the file cannot be read or is not what it was on arrival: then
    whoever reads the file itself will find out. So for JSON: where a string is asked for and something else is there,
    Spark gives the text as it stands in a file, but not as it stands in a line that it is handed.
    """
    if feed.format is not FileFormat.CSV or feed.multiline:
        return None
    try:
        with RawFile(file.path) as raw:
            lines = csvfiles.record_lines(feed, raw)
            return lines if raw.sha256() == file.sha256 else None
    except (UnreadableFileError, VanishedFileError):
        return None


def holds_odd_lines(feed: Feed, file: FeedFile) -> bool:
    """Whether a JSON file has lines that are not one object each; False where it cannot be read any more."""
    return _holds(jsonfiles.holds_odd_lines, feed, file)


def holds_times_of_day(feed: Feed, file: FeedFile) -> bool:
    """Whether a CSV or JSON file may have a value that is a time of day; False where it cannot be read any more."""
    of_csv = feed.format is FileFormat.CSV
    return _holds(csvfiles.holds_times_of_day if of_csv else jsonfiles.holds_times_of_day, feed, file)


def _holds(what: Callable[[Feed, RawFile], bool], feed: Feed, file: FeedFile) -> bool:
    try:
        with RawFile(file.path) as raw:
            return what(feed, raw)
    except (UnreadableFileError, VanishedFileError):
        return False


def nanoseconds(file: FeedFile) -> frozenset[tuple[str, ...]]:
    """Where a Parquet file has times in nanoseconds."""
    return parquetfiles.nanoseconds(file.path)
