"""Whether an update of a view is computed in full or follows what has changed: the facts that this is chosen by."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from freshtide.catalog import Catalog
from freshtide.core.choosing import Choice, Learnt, Standing, Way, choose
from freshtide.core.cuts import Cuts
from freshtide.core.definitions import same_in
from freshtide.core.graph import TableGraph
from freshtide.core.tables import Table
from freshtide.runtime.execution import Computer
from freshtide.storage import Snapshot, Store, UpdateRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenWay:
    """How an update is computed, and what was known when that was chosen."""

    choice: Choice
    learnt: Learnt
    rows: int
    changed: int

    def learnt_by(self, record: UpdateRecord, seconds: float) -> Learnt:
        """What is known after the update, by what its commit says about it."""
        return self.learnt.after(self.choice, _way_of(record), rows=self.rows, changed=self.changed, seconds=seconds)


class ViewWays:
    """Chooses by what the catalog has learnt of a view, and by what tables hold."""

    def __init__(self, computer: Computer, graph: TableGraph, store: Store, catalog: Catalog) -> None:
        self._computer = computer
        self._graph = graph
        self._cuts = Cuts(graph)
        self._store = store
        self._catalog = catalog
        self._against: dict[str, str | None] = {}
        """The operator without a rule, of views that were looked at. A later version of Freshtide may have one."""

    def chosen(self, table: Table, *, definition: str, pool: str) -> ChosenWay:
        against = self._against.get(table.name)
        former = same_in(self._computer.former, table.name)
        known = self._catalog.tables.get(table.name).learnt
        # The same in other words takes as long.
        known = known if known.definition == former else known.of(definition)
        learnt = replace(known, definition=definition, against=against)
        record = self._counting(table, {definition, former})
        rows = sum(snapshot.rows for snapshot in map(self._snapshot, table.sources) if snapshot is not None)
        standing = Standing(rows=rows, is_there=record is not None, follows=record is not None and _follows(record))
        choice = choose(learnt, standing)
        if choice.way is Way.FULL or record is None:
            return ChosenWay(choice=choice, learnt=learnt, rows=rows, changed=0)
        if table.name not in self._against:
            self._against[table.name] = self._computer.against_changes(table.name, pool=pool)
            learnt = replace(learnt, against=self._against[table.name])
        changed = sum(self._changed(source, record) for source in table.sources) if learnt.against is None else 0
        choice = choose(learnt, replace(standing, changed=changed))
        return ChosenWay(choice=choice, learnt=learnt, rows=rows, changed=changed)

    def _counting(self, table: Table, definitions: Set[str | None]) -> UpdateRecord | None:
        """What the view says of its last update, if its query was this one."""
        snapshot = self._snapshot(table.name)
        if snapshot is None or snapshot.record is None or snapshot.freshness is None:
            return None
        return snapshot.record if snapshot.record.definition in definitions else None

    def _changed(self, source: str, record: UpdateRecord) -> int:
        """Rows in files that have come or gone since the view was computed; some of them may be as they were."""
        current, seen = self._snapshot(source), record.sources.get(source)
        if current is None or seen == current.number:
            return 0
        stored = self._store.table(source, time_column=self._graph[source].time_column)
        if seen is not None and self._cuts.appends_only(source) and stored.revised_since(seen) is None:
            since = None if record.freshness is None else record.freshness + 1
            return sum(file.rows for file in current.between(since, None))
        before = None if seen is None else stored.after(seen)
        old = {} if before is None else {file.path: file.rows for file in before.files}
        new = {file.path: file.rows for file in current.files}
        return sum((old | new)[path] for path in old.keys() ^ new.keys())

    def _snapshot(self, name: str) -> Snapshot | None:
        return self._store.table(name, time_column=self._graph[name].time_column).snapshot


def _way_of(record: UpdateRecord) -> Way:
    if record.from_changes:
        return Way.CHANGES
    return Way.ANEW if record.states else Way.FULL


def _follows(record: UpdateRecord) -> bool:
    return record.from_changes or bool(record.states)
