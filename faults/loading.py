"""Loads, computed: files are read and their rows written, into the table, beside it, or where its flow wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from faults.content import parsed, written
from faults.tables import BASES, Row, is_split_off, project
from freshtide.core.loads import LoadPlan
from freshtide.core.steps import Load
from freshtide.runs import Places
from freshtide.runtime.unchanged import watched
from freshtide.storage import (
    BEGINNING,
    Change,
    Counts,
    DataFile,
    LoadedArrival,
    Prepared,
    Snapshot,
    Store,
    StoredTable,
    TableCommit,
    UpdateKind,
    UpdateRecord,
    is_unfinished,
    journal_folder,
    next_number,
)
from freshtide.world import Clock, make_folder

TIME = pa.timestamp("us", tz="UTC")
ROWS = pa.schema([("id", pa.int64()), ("ts", TIME), ("k", pa.string()), ("v", pa.int32())])
_REJECTS = pa.schema([("raw", pa.string()), ("reason", pa.string()), ("file", pa.string())])


@dataclass(slots=True, kw_only=True)
class _Sorted:
    """The rows of a load, by where they go."""

    kept: list[Row] = field(default_factory=list)
    apart: list[Row] = field(default_factory=list)
    """To the other target of a flow."""
    late: list[Row] = field(default_factory=list)
    bad: list[tuple[str, str, str]] = field(default_factory=list)
    read: int = 0


class Loading:
    """Computes loads of base tables."""

    def __init__(self, store: Store, definitions: Mapping[str, str], *, clock: Clock, work: Callable[[], None]) -> None:
        self._store = store
        self._definitions = definitions
        self._clock = clock
        self._work = work
        self._flows = Places(project()).flows

    @contextmanager
    def prepared(self, step: Load) -> Iterator[Prepared]:
        """Read the files of a load, and write what goes into the table and beside it."""
        table, plan = step.table, step.plan
        main = self._store.table(table.name, time_column=table.time_column)
        rejects, late = self._store.table(f"{table.name}__rejects"), self._store.table(f"{table.name}__late")
        number, current = next_number(main, (rejects, late), at=self._clock.now()), main.snapshot
        unchanged = watched(self._store.disk, [item.arrival for item in plan.items])
        self._work()
        rows = self._read(table.name, plan)
        self._work()
        files = written(main, rows.kept, ROWS, number=number)
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if step.rebuild else UpdateKind.LOAD,
            freshness=plan.freshness,
            safe=plan.safe,
            definition=self._definitions[table.name],
            arrivals=tuple(LoadedArrival.of(file) for file in plan.arrivals),
            counts=_counted(rows, flows=table.flow is not None),
            targets=current.record.targets if current is not None and current.record is not None else {},
            revised_from=BEGINNING if step.rebuild else _reaching_back(files, main.snapshot),
        )
        beside = self._beside(record, ((rejects, rows.bad, _REJECTS), (late, rows.late, ROWS)))
        update = Prepared(own=(main, self._change(record, ROWS, files)), beside=beside, files=plan.arrivals)
        if table.flow is None or not (plan.items or current is None or step.rebuild):
            self._work()
            unchanged()
            yield update
            return
        folder = self._begun(table.flow)
        other = self._apart(table.name, table.flow, record, rows.apart)
        self._work()
        unchanged()
        targets = {other.table: self._come_to(other, record)}
        own = (main, self._change(replace(record, targets=targets), ROWS, files))
        try:
            yield replace(update, own=own, others=(other,), journal=folder)
        finally:
            if not is_unfinished(folder, self._store):
                self._store.disk.remove_tree(folder)

    def _read(self, table: str, plan: LoadPlan) -> _Sorted:
        base, rows = BASES[table], _Sorted()
        for item in plan.items:
            for raw, row in parsed(self._store.disk.read(item.arrival.position)):
                rows.read += 1
                if row is None:
                    rows.bad.append((raw, "it is no row", item.arrival.position))
                elif not base.keeps(row):
                    continue
                elif item.late_upto is not None and row.ts <= item.late_upto:
                    rows.late.append(row)
                elif base.beside is not None and is_split_off(row):
                    rows.apart.append(row)
                else:
                    rows.kept.append(row)
        return rows

    def _beside(
        self, record: UpdateRecord, sides: Sequence[tuple[StoredTable, Sequence[tuple[Any, ...]], pa.Schema]]
    ) -> tuple[tuple[StoredTable, Change], ...]:
        """What is put aside; a rebuild judges anew what had been, and the old rows go even if no new ones come."""
        aside = replace(record, counts=Counts(), arrivals=(), targets={})
        found = []
        for side, rows, schema in sides:
            if rows or (record.kind is UpdateKind.REBUILD and side.snapshot is not None):
                added = written(side, rows, schema, number=record.number)
                found.append((side, self._change(aside, schema, added)))
        return tuple(found)

    def _begun(self, flow: str) -> Path:
        """The folder of a flow's journal, empty."""
        folder, disk = journal_folder(self._flows, flow, self._store), self._store.disk
        assert not is_unfinished(folder, self._store), "what was decided on is finished before more is read"
        disk.remove_tree(folder)
        make_folder(disk, folder)
        return folder

    def _apart(self, table: str, flow: str, record: UpdateRecord, rows: Sequence[Row]) -> TableCommit:
        """What the other target of the flow gets."""
        name = BASES[table].beside
        assert name is not None, "a flow has another target"
        other = self._store.table(name)
        # What a run left behind that did not come to its end is not ours to commit.
        snapshot = other.recover()
        number = 1 if snapshot is None else snapshot.number + 1
        added = written(other, rows, ROWS, number=number)
        its = UpdateRecord(
            number=number,
            kind=UpdateKind.FLOW,
            freshness=None,
            safe=None,
            definition=f"flow {flow}",
            sources={table: record.number},
        )
        change = replace(self._change(its, ROWS, added), replace_all=record.kind is UpdateKind.REBUILD)
        return TableCommit(table=name, change=change)

    def _come_to(self, other: TableCommit, record: UpdateRecord) -> int:
        """The number that the other target comes to, counted on from what it should have: what is lost stays lost."""
        snapshot = self._store.table(other.table).snapshot
        held = 0 if snapshot is None else snapshot.number
        should_have = held if record.kind is UpdateKind.REBUILD else record.targets.get(other.table, held)
        return should_have + other.change.record.number - held

    def _change(self, record: UpdateRecord, schema: pa.Schema, add: tuple[DataFile, ...]) -> Change:
        replaces = record.kind is UpdateKind.REBUILD
        return Change(record=record, at=self._clock.now(), schema=schema, add=add, replace_all=replaces)


def _counted(rows: _Sorted, *, flows: bool) -> Counts:
    return Counts(
        read=rows.read,
        loaded=len(rows.kept),
        rejected=len(rows.bad),
        late=len(rows.late),
        flowed=len(rows.kept) + len(rows.apart) if flows else None,
    )


def _reaching_back(files: Sequence[DataFile], before: Snapshot | None) -> int | None:
    """The earliest new row that is stamped in what dependents were told is complete."""
    safe = before.record.safe if before is not None and before.record is not None else None
    if safe is None:
        return None
    return min((file.low for file in files if file.low is not None and file.low <= safe), default=None)
