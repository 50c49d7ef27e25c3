"""Data arriving as files in folders, or as single rows (`streams`).

A watcher finds the files of a feed and waits until each has settled. An inspection reads a settled file
once: it hashes and checks it, counts its records and finds its timestamp. Admission gives the verdict, which
the catalog keeps: ready to be loaded, a punctuation, a duplicate, refused for having changed in place, or
quarantined with a reason. A FeedSet does all of it for the feeds of a project, and an Intake has the verdicts written
down and tells the scheduler what there is to load. Nothing in here reads a clock but the one that it is handed.

How a feed is written is read in `project/feeds`, and rows of files are read by Spark, in `spark/formats`.
"""

from freshtide.feeds.admission import PUT_ASIDE, Ledger, admit, retry
from freshtide.feeds.columnfaults import RETRY
from freshtide.feeds.errors import (
    NamePatternError,
    NotQuarantinedError,
    OtherContentError,
    TimeFormatError,
    TimeZoneError,
    UnreadableFileError,
    VanishedFileError,
)
from freshtide.feeds.feedset import FeedSet, says_the_same
from freshtide.feeds.globs import landing_folders
from freshtide.feeds.inspection import Inspection, check_feed, inspect, read_punctuation
from freshtide.feeds.intake import Intake
from freshtide.feeds.localtimes import local_times, zone_of
from freshtide.feeds.quarantine import (
    CHANGED,
    accept_everywhere,
    released_duplicates,
    retry_everywhere,
    skip_everywhere,
    verdicts,
)
from freshtide.feeds.settling import Signature
from freshtide.feeds.timeformats import check_time_format, parser
from freshtide.feeds.typefaults import fault_of_structs, inner_types, unknown_to_spark
from freshtide.feeds.watching import FolderWatcher, SettledFile

__all__ = [
    "CHANGED",
    "PUT_ASIDE",
    "RETRY",
    "FeedSet",
    "FolderWatcher",
    "Inspection",
    "Intake",
    "Ledger",
    "NamePatternError",
    "NotQuarantinedError",
    "OtherContentError",
    "SettledFile",
    "Signature",
    "TimeFormatError",
    "TimeZoneError",
    "UnreadableFileError",
    "VanishedFileError",
    "accept_everywhere",
    "admit",
    "check_feed",
    "check_time_format",
    "fault_of_structs",
    "inner_types",
    "inspect",
    "landing_folders",
    "local_times",
    "parser",
    "read_punctuation",
    "released_duplicates",
    "retry",
    "retry_everywhere",
    "says_the_same",
    "skip_everywhere",
    "unknown_to_spark",
    "verdicts",
    "zone_of",
]
