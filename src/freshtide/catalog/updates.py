"""Updates that ran, run or failed, with the decision behind each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Float, Integer, bindparam, case, func, insert, select, update

from freshtide import crashpoints
from freshtide.catalog.database import Database
from freshtide.catalog.schema import updates
from freshtide.core.secrets import redacted


class UpdateStatus(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildProgress:
    """Which part of a rebuild an update is, and how much the parts before it have done."""

    part: int
    done: int
    whole: int
    """Of the whole rebuild, by what the table, or the sources of the view, have by now."""
    unit: Literal["files", "bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRow:
    """One attempt to update a table."""

    table: str
    number: int
    kind: str
    track: int
    status: UpdateStatus
    started_at: float
    upto: float
    id: int = 0
    finished_at: float | None = None
    from_freshness: float | None = None
    freshness: float | None = None
    rows: int | None = None
    decision: dict[str, Any] | None = None
    error: str | None = None
    progress: RebuildProgress | None = None
    """Of a rebuild in parts."""

    @property
    def seconds(self) -> float | None:
        return None if self.finished_at is None else self.finished_at - self.started_at


class UpdateEnd(NamedTuple):
    """When an update ended, and how fresh its table was before and after it."""

    table: str
    at: float
    before: float | None
    after: float | None
    is_done: bool
    """Whether it was committed for certain. One that was interrupted may have been: the next one tells."""


_START = insert(updates)
_CHANGE = update(updates).where(updates.c.id == bindparam("update_id"))
_MOMENT = bindparam("moment", type_=Float(53))
# The clock may have been set back since: no update ends before it began.
_INTERRUPT_RUNNING = (
    update(updates)
    .where(updates.c.status == UpdateStatus.RUNNING)
    .values(finished_at=case((updates.c.started_at > _MOMENT, updates.c.started_at), else_=_MOMENT))
)
_IS_DONE = updates.c.status == UpdateStatus.DONE
_MOST = bindparam("most", type_=Integer)
_RUNNING = select(updates).where(updates.c.status == UpdateStatus.RUNNING)
_RECENT = select(updates).where(updates.c.table_name == bindparam("table")).order_by(updates.c.id.desc()).limit(_MOST)
_LATEST_DONE = select(updates).where(_IS_DONE).order_by(updates.c.finished_at.desc()).limit(_MOST)
_LAST_MOMENT = select(func.coalesce(updates.c.finished_at, updates.c.started_at)).order_by(updates.c.id.desc()).limit(1)
_DONE_SINCE = (
    select(*(column for column in updates.c if column.name != "decision"))
    .where(_IS_DONE, updates.c.finished_at >= bindparam("moment"))
    .order_by(updates.c.finished_at)
)
_ENDED_SINCE = (
    select(
        updates.c.table_name,
        updates.c.finished_at,
        updates.c.from_freshness,
        updates.c.freshness,
        _IS_DONE.label("is_done"),
    )
    .where(
        updates.c.status.in_((UpdateStatus.DONE, UpdateStatus.INTERRUPTED)),
        updates.c.finished_at >= bindparam("moment"),
    )
    .order_by(updates.c.finished_at, updates.c.id)
)


class UpdateLog:
    """The history of updates."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(self, row: UpdateRow) -> int:
        # That it is a part of a rebuild is not known before it is under way.
        left_out = {"id", "table", "progress"}
        values = {name: getattr(row, name) for name in UpdateRow.__slots__ if name not in left_out}
        with self._database.writing() as connection:
            result = connection.execute(_START, {"table_name": row.table, **values})
            assert result.inserted_primary_key is not None
        crashpoints.reach("recorded")
        return int(result.inserted_primary_key[0])

    def note_progress(self, update_id: int, progress: RebuildProgress) -> None:
        self._set(update_id, {"progress": asdict(progress)})

    def finish(
        self, update_id: int, *, at: float, freshness: float | None, rows: int, within: Connection | None = None
    ) -> None:
        values = {"status": UpdateStatus.DONE, "finished_at": at, "freshness": freshness, "rows": rows}
        self._set(update_id, values, within)

    def fail(self, update_id: int, *, at: float, error: str) -> None:
        self._set(update_id, {"status": UpdateStatus.FAILED, "finished_at": at, "error": redacted(error)})

    def interrupt(self, update_id: int, *, at: float, error: str) -> None:
        """An update that ended through no fault of its own."""
        self._set(update_id, {"status": UpdateStatus.INTERRUPTED, "finished_at": at, "error": error})

    def interrupt_running(self, at: float) -> None:
        """What is still marked as running belonged to a process that is gone."""
        with self._database.writing() as connection:
            connection.execute(_INTERRUPT_RUNNING, {"status": UpdateStatus.INTERRUPTED, "moment": at})

    def running(self) -> list[UpdateRow]:
        return self._select(_RUNNING)

    def recent(self, table: str, count: int = 20) -> list[UpdateRow]:
        """The newest updates of a table, newest first."""
        return self._select(_RECENT, table=table, most=count)

    def latest_done(self, count: int) -> list[UpdateRow]:
        """The updates of all tables that ended well last, in the order of their ends."""
        return self._select(_LATEST_DONE, most=count)[::-1]

    def last_moment(self) -> float | None:
        """When the newest update ended or, where it did not, started."""
        with self._database.reading() as connection:
            found: float | None = connection.scalar(_LAST_MOMENT)
            return found

    def done_since(self, moment: float) -> list[UpdateRow]:
        """Finished updates from a moment on, oldest first, without the decisions: there may be a week of them."""
        return self._select(_DONE_SINCE, moment=moment)

    def ended_since(self, moment: float) -> list[UpdateEnd]:
        """What may have moved tables from a moment on, oldest first; in time that grows with how much that is alone."""
        with self._database.reading() as connection:
            rows = connection.execute(_ENDED_SINCE, {"moment": moment})
            return [UpdateEnd(table, at, before, after, bool(done)) for table, at, before, after, done in rows]

    def _set(self, update_id: int, values: dict[str, object], within: Connection | None = None) -> None:
        with self._database.writing(within) as connection:
            connection.execute(_CHANGE, {**values, "update_id": update_id})

    def _select(self, query: Any, **asked: object) -> list[UpdateRow]:
        with self._database.reading() as connection:
            return [_row(dict(row)) for row in connection.execute(query, asked).mappings()]


def _row(values: dict[str, Any]) -> UpdateRow:
    table, progress = values.pop("table_name"), values.pop("progress")
    return UpdateRow(
        table=table,
        **{**values, "status": UpdateStatus(values["status"])},
        progress=None if progress is None else RebuildProgress(**progress),
    )
