"""Tables on disk: Delta Lake tables, without a JVM jar.

The only package that imports deltalake: delta-rs reads logs and writes checkpoints, behind the port `DeltaLogs`.
Parquet files are written beside the log first, by Spark or from Arrow, then one entry of the log adds and removes files
atomically and carries the update's number, freshness, loaded files and writer. The log is the truth: everything else
can be rebuilt from it, and from the ledger where its oldest entries have been removed. Nothing here knows what an
update computes, and nothing needs Spark.
"""

from freshtide.storage.authority import Authority, Unrestricted
from freshtide.storage.changes import Change, otherwise_timed, outgrown
from freshtide.storage.compaction import FAN_IN, compact
from freshtide.storage.encoding import Footer, Parquet, RowEncoding
from freshtide.storage.errors import DiskError, ForeignCommitError, StorageError, UnstorableError
from freshtide.storage.history import History
from freshtide.storage.jointcommits import Commit, FilesCommit, FolderCommit, TableCommit
from freshtide.storage.journal import commit_together, finish_interrupted, is_unfinished, journal_folder
from freshtide.storage.keeping import kept_upto
from freshtide.storage.keys import all_of, key_column, places
from freshtide.storage.landing import Prepared, TableChange, gathered, land, next_number
from freshtide.storage.latest import GONE_AT, LARGEST_FILE, LatestTable, Merge, youngest
from freshtide.storage.logs import DeltaLogs, OpenLog, UnreadableLogError
from freshtide.storage.records import BEGINNING, Counts, LoadedArrival, UpdateKind, UpdateRecord, Writer
from freshtide.storage.rows import aligned, stored_rows
from freshtide.storage.snapshots import DataFile, Snapshot
from freshtide.storage.store import Store
from freshtide.storage.tables import StoredTable
from freshtide.storage.tidying import Tidying

__all__ = [
    "BEGINNING",
    "FAN_IN",
    "GONE_AT",
    "LARGEST_FILE",
    "Authority",
    "Change",
    "Commit",
    "Counts",
    "DataFile",
    "DeltaLogs",
    "DiskError",
    "FilesCommit",
    "FolderCommit",
    "Footer",
    "ForeignCommitError",
    "History",
    "LatestTable",
    "LoadedArrival",
    "Merge",
    "OpenLog",
    "Parquet",
    "Prepared",
    "RowEncoding",
    "Snapshot",
    "StorageError",
    "Store",
    "StoredTable",
    "TableChange",
    "TableCommit",
    "Tidying",
    "UnreadableLogError",
    "Unrestricted",
    "UnstorableError",
    "UpdateKind",
    "UpdateRecord",
    "Writer",
    "aligned",
    "all_of",
    "commit_together",
    "compact",
    "finish_interrupted",
    "gathered",
    "is_unfinished",
    "journal_folder",
    "kept_upto",
    "key_column",
    "land",
    "next_number",
    "otherwise_timed",
    "outgrown",
    "places",
    "stored_rows",
    "youngest",
]
