"""The next step of an update: from the command, the catalog, and how files and tables stand."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from freshtide.catalog import Catalog
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.commands import StartUpdate
from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Column, Feed, SchemaChange
from freshtide.core.graph import TableGraph
from freshtide.core.loads import LoadPlan, due, in_order, plan_load
from freshtide.core.pieces import FILES_AT_ONCE
from freshtide.core.steps import ComputedStep, Load, Merge, Refresh, TakeIn
from freshtide.core.tables import Kind, Table
from freshtide.runs import has_changed, loaded_files, look_at, require_files, to_rebuild_from
from freshtide.runtime.execution import Computer, pool_of
from freshtide.runtime.memory import UpdateMemory
from freshtide.runtime.pieces import aim_of
from freshtide.runtime.progress import Progress
from freshtide.runtime.viewsteps import ViewSteps
from freshtide.runtime.ways import ViewWays
from freshtide.storage import Store, UpdateRecord
from freshtide.world import Clock

_logger = logging.getLogger(__name__)


class NothingKeptError(FreshtideError):
    """A rebuild of a table whose rows were not kept anywhere else."""


class Steps:
    """Decides what is done next for a command. What has been put aside meanwhile is passed by."""

    def __init__(
        self,
        computer: Computer,
        *,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        store: Store,
        catalog: Catalog,
        memory: UpdateMemory,
        clock: Clock,
    ) -> None:
        self._computer = computer
        self._feeds = feeds
        self._store = store
        self._catalog = catalog
        self._suspects = memory.suspects
        self._absences = memory.absences
        self._clock = clock
        self._pieces = memory.pieces
        self._rebuilds = memory.rebuilds
        ways = ViewWays(computer, graph, store, catalog)
        self._views = ViewSteps(
            graph, store, former=computer.former, ways=ways, pieces=memory.pieces, rebuilds=memory.rebuilds
        )

    def begin(self, command: StartUpdate, *, in_parts: bool) -> Progress:
        aim = aim_of(command.within)
        return Progress(command=command, aim=aim, until=self._clock.steady() + aim, in_parts=in_parts)

    def next(self, table: Table, progress: Progress) -> ComputedStep | None:
        """None where there is nothing to do after all."""
        command = progress.command
        match table.kind:
            case Kind.VIEW:
                return self._views.next(table, progress)
            case Kind.LATEST_VIEW:
                return Refresh(table=table, upto=command.upto, rebuild=command.rebuild)
            case Kind.BASE:
                return self._load(table, progress)
            case Kind.MADE:
                return None  # The load that its flow is, or whoever runs that by hand, writes it.
            case Kind.LATEST:
                return self._merge_anew(table) if command.rebuild else self._take_in_or_merge(table, progress)

    def measured(
        self, step: ComputedStep, seconds: float, progress: Progress, landed: UpdateRecord | None = None
    ) -> None:
        """A step has taken so long; what has landed, if anything has."""
        match step:
            case Load():
                self._pieces.measured(step.table.name, step.plan.arrivals, seconds, aim=progress.aim)
            case Refresh():
                self._views.measured(step, seconds, progress, landed)
            case TakeIn():
                self._pieces.measured(step.table.name, step.files, seconds, aim=progress.aim)

    def _load(self, table: Table, progress: Progress) -> Load | None:
        command = progress.command
        if table.is_replaced:
            return self._replace(table, progress)
        if command.rebuild and progress.in_parts and table.flow is None:
            return self._load_anew(table, progress)
        plan = self._plan(table, progress)
        progress.is_cut = plan.is_cut
        # Also where nothing is left that it was loaded from: what a flow wrote beside it goes with a rebuild.
        if not plan.arrivals and not (command.rebuild and table.flow is not None):
            return None
        files = [item.arrival for item in plan.items]
        if not command.rebuild:
            self._suspects.takes(table.name, files)
        return Load(table=table, plan=plan, extra=self._columns(table, files, command), rebuild=command.rebuild)

    def _replace(self, table: Table, progress: Progress) -> Load | None:
        """The newest file takes the place of what the table holds; files before it are done with, and not read.

        A file whose own content has changed since it was loaded counts anew, so all that were loaded are gone through.
        """
        command, feed = progress.command, self._feed_of(table)
        anew = command.rebuild or table.name in self._catalog.arrivals.outdated_tables()
        snapshot = self._store.table(table.name).snapshot
        reached = None if snapshot is None or snapshot.record is None else snapshot.record.freshness
        while True:
            pending = look_at(self._store.disk, self._catalog.arrivals.pending(table.name), self._catalog)
            if pending is not None:
                break
        self._absences.note(table.name, pending)
        # Under the name of one that was loaded there may lie what was put aside since.
        loaded = (file for file in self._catalog.arrivals.loaded(table.name) if file.state is ArrivalState.READY)
        files = [*loaded, *pending] if anew else pending
        plan = plan_load(feed, files, upto=None, freshness=None if anew else reached, safe=None)
        if not plan.arrivals:
            return None
        if reached is not None:
            furthest = max(reached, plan.freshness or reached)
            plan = replace(plan, freshness=furthest, safe=furthest)
        newest = [item.arrival for item in plan.items]
        if anew and any(has_changed(self._store.disk, file) for file in newest):
            # It has changed again: what it holds now is found and announced in its turn.
            return None
        if anew:
            require_files(self._store.disk, table, newest, thoroughly=True)
        else:
            self._suspects.takes(table.name, newest)
        return Load(table=table, plan=plan, extra=self._columns(table, newest, command), rebuild=anew)

    def _load_anew(self, table: Table, progress: Progress) -> Load | None:
        """The next part of a rebuild: each file is judged as in the plan of the whole, and the last part lands all."""
        feed = self._feed_of(table)
        snapshot = self._store.table(table.name).snapshot
        plan = _plan_rebuild(table, feed, loaded_files(table, self._catalog), snapshot.record if snapshot else None)
        if not plan.arrivals:
            return None
        while True:
            extra = self._extra(table)
            underway = self._rebuilds.of(table.name, (table, feed, extra), plan)
            left = [item.arrival for item in underway.left]
            most = self._pieces.fitting(table.name, left, aim=progress.aim * underway.pace.stretch)
            part = underway.part(min(most, FILES_AT_ONCE))
            files = [item.arrival for item in part.plan.items]
            require_files(self._store.disk, table, files, thoroughly=True)
            # What is made of rows without a column is not what is made of them with it.
            if self._columns(table, files, progress.command) == extra:
                break
        progress.part = part
        return Load(table=table, plan=part.plan, extra=extra, rebuild=True)

    def _plan(self, table: Table, progress: Progress) -> LoadPlan:
        command, feed = progress.command, self._feed_of(table)
        snapshot = self._store.table(table.name).snapshot
        record = snapshot.record if snapshot else None
        if command.rebuild:
            return _plan_rebuild(table, feed, to_rebuild_from(self._store.disk, table, self._catalog), record)
        most = self._suspects.most(table.name, FILES_AT_ONCE)
        files = self._intact(table, command.upto, most)
        waiting = due(in_order(files), command.upto)
        plan = plan_load(
            feed,
            files,
            upto=command.upto,
            freshness=record.freshness if record else None,
            safe=record.safe if record else None,
            most=min(most, self._pieces.fitting(table.name, waiting, aim=progress.aim)),
            held_up=self._catalog.arrivals.held_up(table.name, waiting),
            is_reference=table.is_reference,
        )
        # Of what is due no more than that was asked for.
        return replace(plan, is_cut=plan.is_cut or len(plan.items) >= most)

    def _intact(self, table: Table, upto: float, most: int) -> list[Arrival]:
        """The next files to load as they stand; those that have changed since they were registered are put aside."""
        while True:
            files = self._catalog.arrivals.pending_first(table.name, upto=upto, most=most)
            standing = look_at(self._store.disk, files, self._catalog)
            if standing is not None:
                self._absences.note(table.name, standing)
                return standing

    def _merge_anew(self, table: Table) -> Merge:
        feed = self._feed_of(table)
        if not feed.brings_files:
            raise NothingKeptError(
                f"'{table.name}' cannot be rebuilt: the rows of '{feed.name}' came one by one and were not kept.",
                way_out="It changes with the rows that come next.",
            )
        files = tuple(to_rebuild_from(self._store.disk, table, self._catalog))
        return Merge(table=table, files=files, extra=self._extra(table), rebuild=True)

    def _take_in_or_merge(self, table: Table, progress: Progress) -> TakeIn | Merge:
        files = self._to_take_in(table, progress)
        if not files:
            return Merge(table=table, extra=self._extra(table))
        self._suspects.takes(table.name, files)
        return TakeIn(table=table, files=tuple(files), extra=self._columns(table, files, progress.command))

    def _to_take_in(self, table: Table, progress: Progress) -> list[Arrival]:
        """The files to read before the first of those that wait is served: of each key only the newest row counts.

        They are read in the order of their arrival, which is the same after a crash; one that is away is waited for.
        Those that land meanwhile are left for the next update: where they land faster than they are read, nothing would
        ever be served. Of a backlog as much is read as some seconds allow, so that each restart finds less of it.
        """
        stream = self._computer.streams[table.name].stream
        while not stream.is_full:
            pending = self._catalog.arrivals.pending(table.name)
            if progress.there is None:
                progress.there = frozenset(file.id for file in pending)
            waiting = [file for file in pending if file.id in progress.there and not stream.has_taken(file.id)]
            if waiting and self._clock.steady() > progress.until:
                progress.is_cut = True
                return []
            fitting = self._pieces.fitting(table.name, waiting, aim=progress.aim)
            most = min(self._suspects.most(table.name, FILES_AT_ONCE), fitting)
            standing = look_at(self._store.disk, waiting[:most], self._catalog)
            if standing is not None:
                self._absences.note(table.name, standing)
                return list(takewhile(lambda file: file.state is not ArrivalState.AWAY, standing))
        return []

    def _columns(self, table: Table, files: Sequence[Arrival], command: StartUpdate) -> tuple[Column, ...]:
        """What the feed has gained, with what is found in these files where it may gain more."""
        feed = self._feed_of(table)
        if feed.on_schema_change is SchemaChange.EVOLVE:
            known, pool = self._extra(table), pool_of(command.track)
            found = self._computer.discovered_columns(feed.name, files, known=known, pool=pool)
            self._catalog.arrivals.add_columns(feed.name, found)
        return self._extra(table)

    def _extra(self, table: Table) -> tuple[Column, ...]:
        return gained_columns(self._feed_of(table), self._catalog)

    def _feed_of(self, table: Table) -> Feed:
        assert table.feed is not None, f"{table.name} is not a base table"
        return self._feeds[table.feed]


def _plan_rebuild(table: Table, feed: Feed, files: list[Arrival], record: UpdateRecord | None) -> LoadPlan:
    """Load everything once more, in the order of time.

    Rows that had come too late may now be in time; what was promised to dependents stays promised.
    """
    plan = plan_load(feed, files, upto=None, freshness=None, safe=None, is_reference=table.is_reference)
    if record is None or record.safe is None:
        return plan
    return replace(plan, safe=max(record.safe, plan.safe or record.safe))


def gained_columns(feed: Feed, catalog: Catalog) -> tuple[Column, ...]:
    """The columns of the catalog, without those that older versions kept and no table can have."""
    taken = {name.lower() for name in feed.column_names}
    kept: list[Column] = []
    for column in catalog.arrivals.extra_columns(feed.name):
        if not column.name.strip() or column.name.lower() in taken:
            _logger.warning(
                "Feed '%s' has gained a column '%s', without a name or other by case alone: it is left out.",
                feed.name,
                column.name,
            )
            continue
        taken.add(column.name.lower())
        # Times in a table are instants.
        kept.append(replace(column, type="timestamp") if column.type == "timestamp_ntz" else column)
    return tuple(kept)
