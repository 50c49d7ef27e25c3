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
from freshtide.core.cuts import Cuts
from freshtide.core.definitions import fingerprints
from freshtide.core.errors import FreshtideError
from freshtide.core.events import Event
from freshtide.core.feeds import Column
from freshtide.feeds import FeedSet, landing_folders
from freshtide.latest import LatestQueue
from freshtide.planning import require_tracks
from freshtide.project import Project
from freshtide.runs import LossFinder, Places, beginning_of, holdings, reach_of, scheduler_from
from freshtide.runtime.absences import Absences
from freshtide.runtime.disks import disk_checks, write_probe
from freshtide.runtime.engine import Engine
from freshtide.runtime.execution import Executor
from freshtide.runtime.gained import gained_columns
from freshtide.runtime.mending import mending_of
from freshtide.runtime.news import News
from freshtide.runtime.recovery import reconcile, revised_views
from freshtide.runtime.regularly import regularly
from freshtide.runtime.stores import loading_flows, open_store
from freshtide.runtime.trace import TraceWriter
from freshtide.runtime.unchanged import watched
from freshtide.runtime.units import UnitWorker
from freshtide.runtime.watching import Check, SurroundingsWatch
from freshtide.runtime.worker import UpdateWorker
from freshtide.scheduling import RetryPolicy
from freshtide.spark import (
    Audit,
    Listeners,
    QueueMaker,
    SparkComputer,
    SparkFailedError,
    SparkSession,
    SparkTracks,
    TableSchemas,
    TableStates,
    require_shared,
    resolve_columns,
    start_session,
)
from freshtide.storage import Tidying, finish_interrupted
from freshtide.world import Disk, Mailbox, OsDisk, SystemClock, SystemThreads, names_in

_PRUNE_EVERY = 3_600.0


class NotWritableError(FreshtideError):
    """A folder that Freshtide must write into and cannot."""


class Workbench:
    """Everything a warehouse works with, opened once: Spark, the tables, the catalog.

    A Spark session that exists already can be handed in; it is used and left running. With another
    `make_queue` rows wait for update tables in other queues, such as the append queue, to compare with.
    """

    def __init__(
        self,
        project: Project,
        *,
        spark: SparkSession | None = None,
        make_queue: QueueMaker = LatestQueue,
        disk: Disk | None = None,
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
            self._flows = loading_flows(project, self.store)
            self.schemas = self._resolve()
            self._opened = opened.pop_all()
        self._definitions = fingerprints(project.graph)
        self.listeners = Listeners()
        self.computer = SparkComputer(
            self.tracks,
            feeds=project.feeds,
            graph=project.graph,
            store=self.store,
            schemas=self.schemas,
            definitions=self._definitions,
            flows=self._flows,
            large_update=project.settings.large_update,
            update_memory=project.settings.update_memory,
            clock=self.clock.now,
            listeners=self.listeners,
            make_queue=make_queue,
            spool=self.places.spool,
            watch=partial(watched, self.disk),
        )
        tidying = Tidying(self.store, Cuts(project.graph), retention=project.settings.retention, clock=self.clock.now)
        self.executor = Executor(self.computer, self.store, tidying)

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
        with (
            RunLease(self.places.lock, self.catalog.seat, tell=tell, threads=self.threads, disk=self.disk) as lease,
            regularly(lambda: self.catalog.prune(self.clock.now()), every=_PRUNE_EVERY, threads=self.threads),
        ):
            self.store.authority = lease
            if lease.must_fence:
                self.store.fence(at=self.clock.now())
                lease.fenced()
            yield lease

    def states(self, pool: str = "questions") -> TableStates:
        """Readable states of all tables, in a session of the calling thread."""
        return self.computer.states(pool)

    def audit(self) -> Audit:
        return Audit(self.states())

    def engine(self, *, once: bool = False) -> Engine:
        """An engine that goes on where the last one stopped. The caller holds the lease."""
        # Reservations pace updates by periods to come; a single pass has none, and would wait for each in vain.
        project = unpaced(self.project) if once else self.project
        settings = project.settings
        require_tracks(project, self.catalog)
        self.computer.health.revive()
        with suppress(SparkFailedError):  # That is told, and the folders are tried as soon as Spark can work.
            self._require_shared()
        # Before the catalog is brought up to the logs: these are not at their end yet.
        places = (self.places.flows, self.places.flows_of_earlier_versions)
        interrupted = sorted(place / name for place in places for name in names_in(self.disk, place))
        finish_interrupted(interrupted, self.store)
        reconcile(project.graph, self.store, self.catalog, self.clock.now())
        self.computer.streams.begin()
        events: Mailbox[Event] = self.threads.mailbox()
        news = News(self.disk, self.places.trouble, log=self.places.log)
        surroundings = self._watch(events, news)
        absences = Absences(self.disk)
        worker = UpdateWorker(
            self.executor,
            self.computer,
            feeds=project.feeds,
            graph=project.graph,
            store=self.store,
            catalog=self.catalog,
            absences=absences,
            clock=self.clock,
            surroundings=surroundings,
            threads=self.threads,
        )
        feed_set = FeedSet(
            project.feeds.values(),
            project.root,
            self.catalog.files,
            known={name: self.catalog.files.known_paths(name) for name in project.feeds},
        )
        beginning = beginning_of(project, self.catalog, revised=revised_views(project.graph, self.store))
        losses = LossFinder(project, self.catalog, self.store).find(holdings(project))
        trace = TraceWriter(self.places.trace, beginning, disk=self.disk)
        return Engine(
            scheduler_from(beginning, trace.recording(reach_of(project))),
            UnitWorker(
                worker,
                self.computer,
                graph=project.graph,
                catalog=self.catalog,
                clock=self.clock,
                surroundings=surroundings,
            ),
            events=events,
            surroundings=surroundings,
            news=news,
            feeds=dict(project.feeds),
            feed_set=feed_set,
            latest_streams=self.computer.streams,
            graph=project.graph,
            catalog=self.catalog,
            absences=absences,
            tracks=settings.tracks,
            poll=settings.poll,
            clock=self.clock,
            threads=self.threads,
            trace=trace,
            disk=self.disk,
            mendings=[mending_of(loss, project.graph, self.catalog, self.disk) for loss in losses],
        )

    def _require_shared(self) -> None:
        """Everybody who works for Spark must see the folders that the driver sees."""
        if self.tracks.works_by_itself:
            return
        tables, project = self.places.tables, self.project
        feeds = [folder for feed in project.feeds.values() for folder in landing_folders(feed, project.root)]
        self.computer.health.do(lambda: require_shared(self.tracks.session("probe"), tables=tables, feeds=feeds))

    def _watch(self, events: Mailbox[Event], news: News) -> SurroundingsWatch:
        """Whoever looks after disk, database and Spark during a run."""
        settings, places, health = self.project.settings, self.places, self.computer.health
        written = [places.tables, places.state]
        if places.catalog_folder is not None:
            written.append(places.catalog_folder)
        # Where they are made, and will be made again if Spark has to be started anew.
        spark = [folder.parent for folder in health.own_folders]
        return SurroundingsWatch(
            [
                *disk_checks(self.disk, [*written, *spark], min_free=settings.min_free, written=written),
                Check(look=self.catalog.require_answer, is_quick=False),
                Check(look=health.look, is_quick=True, mend=health.mend),
                Check(look=health.probe, is_quick=False, mend=health.mend),
                Check(look=self._require_shared, is_quick=False),
            ],
            events=events,
            tell=news.tell_trouble,
            backoff=RetryPolicy(backoff=settings.retry.backoff, longest=settings.retry.longest),
            clock=self.clock.onward,
            threads=self.threads,
        )

    def _resolve(self) -> TableSchemas:
        extra: dict[str, tuple[Column, ...]] = {
            name: gained_columns(feed, self.catalog) for name, feed in self.project.feeds.items()
        }
        session = self.tracks.session("analysis")
        return resolve_columns(session, self.project.feeds, self.project.graph, flows=self._flows, extra_columns=extra)


def _tracks(configuration: Mapping[str, str], log: Path) -> SparkTracks:
    """A Spark of our own, which can be started again."""
    start = partial(start_session, configuration, log=log)
    return SparkTracks(start(), start=start)


def unpaced(project: Project) -> Project:
    """The same project without reservations: what is there is updated by its deadlines, as soon as a track is idle."""
    policy = project.settings.policy
    if policy.adaptive is None:
        return project
    unreserved = replace(policy, adaptive=None, ordering="edf")
    return replace(project, settings=replace(project.settings, policy=unreserved))


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
