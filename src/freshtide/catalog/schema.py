"""The catalog's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

if TYPE_CHECKING:
    from sqlalchemy import Dialect

metadata = MetaData()
# SQLite only numbers rows by itself when the key is a plain INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")


# Paths are ordered as Python orders them, whatever language the server speaks; SQLite does so by itself.
_Path = Text(collation="C").with_variant(Text(), "sqlite")


class _Sentence(TypeDecorator[str]):
    """A sentence for people. It may quote what a file holds, and not everything a file holds can be stored as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the base's
        if value is None:
            return None
        return value.replace("\0", "\\0").encode(errors="backslashreplace").decode()


files = Table(
    "files",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("feed", String(255), nullable=False),
    Column("path", _Path, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    Column("arrived_at", Float(53), nullable=False),
    Column("state", String(16), nullable=False),
    Column("timestamp", Float(53)),
    Column("rows", BigInteger),
    Column("columns", JSON),
    Column("reason", _Sentence),
    Column("unpacked", BigInteger),
    Index("files_once_by_path", "feed", "path", unique=True),
    Index("files_by_content", "feed", "sha256"),
    Index("files_by_state", "feed", "state"),
    # Without it SQLite gives the id of a deleted row to the next one, which is then taken for it.
    sqlite_autoincrement=True,
)

refusals = Table(
    "refusals",
    metadata,
    Column("feed", String(255), primary_key=True),
    Column("path", _Path, primary_key=True),
    Column("sha256", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    Column("arrived_at", Float(53), nullable=False),
    Column("timestamp", Float(53)),
    Column("rows", BigInteger),
    Column("columns", JSON),
    Column("reason", _Sentence),
    comment="Content with which registered files were overwritten, and which is not loaded unless somebody accepts it.",
)

loads = Table(
    "loads",
    metadata,
    Column("table_name", String(255), primary_key=True),
    Column("file_id", _Id, primary_key=True, autoincrement=False),
    Column("number", BigInteger),
    Column("sha256", String(64)),
    Index("loads_by_number", "table_name", "number"),
    comment="Which table has loaded which file with which update; number is null while it is pending, "
    "sha256 names the content that was loaded if it is another than the registered one.",
)

tables = Table(
    "tables",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("status", String(16), nullable=False),
    Column("reason", _Sentence),
    Column("number", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("freshness", Float(53)),
    Column("safe", Float(53)),
    Column("definition", String(64)),
    Column("cost", JSON),
    Column("counts", JSON),
    Column("updates", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("busy", Float(53), nullable=False),
    Column("timed", BigInteger),
    Column("since", Float(53)),
    Column("learnt", JSON),
    Column("query", JSON),
)

update_groups = Table(
    "update_groups",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("tables", JSON, nullable=False),
    Column("cost", JSON, nullable=False),
)

update_streams = Table(
    "update_streams",
    metadata,
    Column("table_name", String(255), primary_key=True),
    Column("pending_since", Float(53)),
    Column("residents", BigInteger, nullable=False),
    Column("superseded", BigInteger, nullable=False),
    Column("rejected", BigInteger, nullable=False),
    Column("taken_in", BigInteger),
    comment="What waits for update tables, and how many of their rows were superseded or rejected.",
)

updates = Table(
    "updates",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("table_name", String(255), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("track", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("started_at", Float(53), nullable=False),
    Column("finished_at", Float(53)),
    Column("from_freshness", Float(53)),
    Column("upto", Float(53), nullable=False),
    Column("freshness", Float(53)),
    Column("rows", BigInteger),
    Column("decision", JSON),
    Column("error", _Sentence),
    Column("progress", JSON(none_as_null=True)),
    Index("updates_by_table", "table_name", "id"),
    # What ended lately is asked for by those who look on, of a week of updates.
    Index("updates_by_end", "status", "finished_at"),
)

requests = Table(
    "requests",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("kind", String(16), nullable=False),
    Column("target", Text, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("done", Boolean, nullable=False),
    Column("succeeded", Boolean, nullable=False, default=True),
    Column("message", _Sentence),
    Index("requests_by_done", "done"),
)

outages = Table(
    "outages",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("feed", String(255), nullable=False),
    Column("silent_since", Float(53), nullable=False),
    Column("began_at", Float(53), nullable=False),
    Column("ended_at", Float(53)),
    Column("returned", Boolean, nullable=False),
    Index("outages_by_end", "ended_at"),
    comment="Stretches of time in which feeds were watched and brought nothing; ended_at is null while one goes on.",
)

feed_columns = Table(
    "feed_columns",
    metadata,
    Column("feed", String(255), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("position", Integer, nullable=False),
    comment="Columns that a feed has gained beyond its declaration (on_schema_change: evolve).",
)

feed_faults = Table(
    "feed_faults",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("feed", String(255), nullable=False),
    Column("message", _Sentence, nullable=False),
    comment="What kept feeds from being watched when the run last looked.",
)

leases = Table(
    "leases",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("nonce", String(32), nullable=False),
    Column("holder", JSON, nullable=False),
    Column("beat", BigInteger, nullable=False),
    Column("released", Boolean, nullable=False),
    comment="Who runs the warehouse; one row.",
)
