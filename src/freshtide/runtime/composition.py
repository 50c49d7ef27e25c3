"""The composition root: a project becomes a warehouse at work."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType

from freshtide.catalog import Catalog, RunLease
from freshtide.core.definitions import FormerRows, fingerprints, known_by
from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Column
from freshtide.feeds import landing_folders
from freshtide.latest import LatestQueue
from freshtide.project import Project
from freshtide.runs import Places
from freshtide.runtime.disks import disk_checks, write_probe
from freshtide.runtime.engine import Engine
from freshtide.runtime.execution import Computer
from freshtide.runtime.parts import RunParts, open_store
from freshtide.runtime.recovery import bring_up
from freshtide.runtime.steps import gained_columns
from freshtide.runtime.unchanged import watched
from freshtide.runtime.watching import Check
from freshtide.spark import (
    Audit,
    Listeners,
    LoadingFlows,
    QueueMaker,
    SparkComputer,
    SparkFailedError,
    SparkSession,
    SparkTracks,
    TableSchemas,
    TableStates,
    compared,
    require_shared,
    resolve_columns,
    start_session,
)
from freshtide.storage import Store, otherwise_timed, outgrown
from freshtide.world import Disk, FileLock, OsDisk, SystemClock, SystemThreads

_PRUNE_EVERY = 3_600.0


class NotWritableError(FreshtideError):
    """A folder that Freshtide must write into and cannot."""


class Workbench:
    """Everything a warehouse works with, opened once: Spark, the tables, the catalog.

    A Spark session that exists already can be handed in; it is used and left running. With another
    `make_queue` rows wait for update tables in other queues, such as the append queue, to compare with. `reload` reads
    the project again from its folder, where it has one: a run goes on with what has changed, and `on_change` is told.
    """

    def __init__(
        self,
        project: Project,
        *,
        spark: SparkSession | None = None,
        make_queue: QueueMaker = LatestQueue,
        disk: Disk | None = None,
        reload: Callable[[Path], Project] | None = None,
        on_change: Callable[[Project], None] = lambda _project: None,
    ) -> None:
        self.project = project
        self.disk = disk or OsDisk()
        self.places = Places(project)
        self.clock = SystemClock()
        self.threads = SystemThreads()
        _require_writable(self.disk, self.places.state, self.places.tables)
        _make_private(self.places.state)
        with ExitStack() as opened:
            # The catalog first: where it is away, nobody should wait for Spark to hear so.
            self.catalog = Catalog.open(self.places.catalog_url)
            opened.callback(self.catalog.close)
            self.tracks = (
                _tracks(project.settings.spark, self.places.spark_log) if spark is None else SparkTracks(spark)
            )
            if spark is None:
                opened.callback(self.tracks.stop)
            self.store = open_store(project, self.disk)
            self.listeners = Listeners()
            self._make_queue = make_queue
            self.computer = self._computer(project)
            self._opened = opened.pop_all()
        self._on_change = on_change
        self._parts = RunParts(
            project=project,
            places=self.places,
            disk=self.disk,
            clock=self.clock,
            threads=self.threads,
            lock=FileLock,
            catalog=self.catalog,
            store=self.store,
            computer=self.computer,
            checks=self._checks,
            reload=None if reload is None else partial(reload, project.root),
            recompute=self._recompute,
            outgrown=self._outgrown,
            on_change=self._follow,
        )
        self.executor = self._parts.executor

    def __enter__(self) -> Workbench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()

    @contextmanager
    def leased(self, *, tell: Callable[[str], None] = lambda _sentence: None) -> Iterator[RunLease]:
        """The right to write, for a run. Only then are tables changed, and the catalog's books kept."""
        with self._parts.leased(tell=tell) as lease:
            yield lease

    def book_made(self, flow: str) -> None:
        """Write down what a run of a flow has made. The caller holds the lease."""
        graph, known = self.project.graph, self.catalog.tables.all()
        names = [table.name for table in graph.made_by(flow)]
        bring_up(names, graph, known=known, store=self.store, catalog=self.catalog, now=self.clock.now())

    def states(self, pool: str = "questions") -> TableStates:
        """Readable states of all tables, in a session of the calling thread."""
        return self.computer.states(pool)

    def audit(self) -> Audit:
        return Audit(self.states())

    def engine(self, *, once: bool = False, watch: bool = False) -> Engine:
        """An engine that goes on where the last one stopped. The caller holds the lease.

        With `watch` it follows the files of its project.
        """
        self.computer.health.revive()
        with suppress(SparkFailedError):  # That is told, and the folders are tried as soon as Spark can work.
            self._require_shared(self.project)
        return self._parts.engine(once=once, watch=watch)

    def _require_shared(self, project: Project) -> None:
        """Everybody who works for Spark must see the folders that the driver sees."""
        if self.tracks.works_by_itself:
            return
        tables = self.places.tables
        feeds = [folder for feed in project.feeds.values() for folder in landing_folders(feed, project.root)]
        self.computer.health.do(lambda: require_shared(self.tracks.session("probe"), tables=tables, feeds=feeds))

    def _checks(self) -> list[Check]:
        """What has to be well about Spark during a run."""
        health = self.computer.health
        # Where its folders are made, and will be made again if it has to be started anew.
        folders = [folder.parent for folder in health.own_folders]
        return [
            *disk_checks(self.disk, folders, min_free=self.project.settings.min_free, written=[]),
            Check(look=health.look, is_quick=True, mend=health.mend),
            Check(look=health.probe, is_quick=False, mend=health.mend),
            Check(look=lambda: self._require_shared(self.project), is_quick=False),
        ]

    def _recompute(self, project: Project) -> SparkComputer:
        """What computes for a changed project; a ProjectError where Spark does not understand it."""
        computer = self._computer(project, beside=self.computer)
        self._require_shared(project)
        return computer

    def _outgrown(self, project: Project, computer: Computer) -> dict[str, str]:
        """Base tables whose columns or times are others now than those of the rows that they hold, and why."""
        assert isinstance(computer, SparkComputer), "Spark computes here"
        found = {}
        for table in project.graph.values():
            columns = computer.columns(table.name) if table.is_base else None
            if columns is not None:
                stored = self.store.table(table.name, time_column=table.time_column).snapshot
                reason = outgrown(table.name, stored, columns, table.partition_by)
                feed = project.feeds[table.feed or ""]
                if reason is None and feed.brings_files:
                    reason = otherwise_timed(table.name, stored, feed.meaning_of_times)
                if reason is not None:
                    found[table.name] = reason
        return found

    def _follow(self, project: Project, computer: Computer) -> None:
        """Another project is at work in the run."""
        assert isinstance(computer, SparkComputer), "Spark computes here"
        self.project, self.computer = project, computer
        # For the next run of this process.
        self._parts = replace(self._parts, project=project, computer=computer)
        self._on_change(project)

    def _computer(self, project: Project, *, beside: SparkComputer | None = None) -> SparkComputer:
        flows = loading_flows(project, self.store)
        schemas = self._resolve(project, flows)
        return SparkComputer(
            self.tracks,
            feeds=project.feeds,
            graph=project.graph,
            store=self.store,
            schemas=schemas,
            definitions=fingerprints(project.graph),
            former=self._known_by(project, schemas),
            flows=flows,
            large_update=project.settings.large_update,
            update_memory=project.settings.update_memory,
            clock=self.clock.now,
            listeners=self.listeners,
            make_queue=self._make_queue,
            spool=self.places.spool,
            watch=partial(watched, self.disk),
            beside=beside,
        )

    def _known_by(self, project: Project, schemas: TableSchemas) -> dict[str, FormerRows]:
        """Rows of views that say what their queries give, though these are others by now."""
        rows = self.catalog.tables.all().values()
        former = {row.name: row.former for row in rows if row.former is not None}
        session = self.tracks.session("analysis")
        return known_by(project.graph, former, lambda table, query: compared(session, table, query, schemas))

    def _resolve(self, project: Project, flows: LoadingFlows) -> TableSchemas:
        extra: dict[str, tuple[Column, ...]] = {
            name: gained_columns(feed, self.catalog) for name, feed in project.feeds.items()
        }
        session = self.tracks.session("analysis")
        return resolve_columns(session, project.feeds, project.graph, flows=flows, extra_columns=extra)


def _tracks(configuration: Mapping[str, str], log: Path) -> SparkTracks:
    """A Spark of our own, which can be started again."""
    start = partial(start_session, configuration, log=log)
    return SparkTracks(start(), start=start)


def _make_private(folder: Path) -> None:
    """Let nobody look into the state but its owner, and the group if somebody has given it to one."""
    found = stat.S_IMODE(folder.stat().st_mode)
    if found & stat.S_IRWXO:
        with suppress(PermissionError):  # The folder is somebody else's, who shares it.
            folder.chmod(found & ~stat.S_IRWXO if found & stat.S_IWGRP else stat.S_IRWXU)


def _require_writable(disk: Disk, *folders: Path) -> None:
    for folder in folders:
        try:
            write_probe(disk, folder)
        except OSError as error:
            raise NotWritableError(
                f"{folder} cannot be written: {error.strerror or error}.",
                way_out="Let the user that runs Freshtide write there; `storage` in freshtide.yml can move the tables.",
            ) from error


def loading_flows(project: Project, store: Store) -> LoadingFlows:
    return LoadingFlows(
        flows=project.flows,
        store=store,
        root=project.root,
        scratch=Places(project).flows,
        policy=project.settings.flow_policy,
    )
