"""What a run is made of, put together: whatever world it runs in, and whatever computes its updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from freshtide.catalog import Catalog, RunLease
from freshtide.core.cuts import Cuts
from freshtide.core.errors import FreshtideError, LeaseLostError, UsageError
from freshtide.core.events import Event
from freshtide.feeds import FeedSet
from freshtide.planning import require_tracks
from freshtide.project import Project
from freshtide.runs import LossFinder, Places, beginning_of, holdings, reach_of, scheduler_from
from freshtide.runtime.absences import Absences
from freshtide.runtime.arrangements import Arrangement
from freshtide.runtime.disks import disk_checks
from freshtide.runtime.engine import Engine
from freshtide.runtime.execution import Computer, Executor
from freshtide.runtime.memory import UpdateMemory
from freshtide.runtime.mending import mending_of, outgrown_mending
from freshtide.runtime.news import News
from freshtide.runtime.pieces import PieceSizes
from freshtide.runtime.projectwatch import ProjectWatch
from freshtide.runtime.rearranging import Rearranging
from freshtide.runtime.recovery import reconcile, revised_views, time_columns_of
from freshtide.runtime.restamping import restamp
from freshtide.runtime.suspects import Suspects
from freshtide.runtime.trace import TraceWriter
from freshtide.runtime.units import UnitWorker
from freshtide.runtime.watching import Check, SurroundingsWatch
from freshtide.runtime.worker import UpdateWorker
from freshtide.scheduling import RetryPolicy
from freshtide.storage import FAN_IN, DeltaLogs, RowEncoding, Store, Tidying, finish_interrupted
from freshtide.world import Clock, Disk, Mailbox, Processes, ProcessLock, SystemProcesses, Threads, names_in

_PRUNE_EVERY = 3_600.0


@dataclass(frozen=True, kw_only=True)
class RunParts:
    """The ports of one process, and what stands on them."""

    project: Project
    places: Places
    disk: Disk
    clock: Clock
    threads: Threads
    lock: Callable[[Path], ProcessLock]
    catalog: Catalog
    store: Store
    computer: Computer
    checks: Callable[[], Sequence[Check]]
    """What has to be well about what computes."""
    processes: Processes = field(default_factory=SystemProcesses)
    reload: Callable[[], Project] | None = None
    """The project as its files are now; None where it has none."""
    recompute: Callable[[Project], Computer] | None = None
    """What computes for a changed project, beside what does for this one; a FreshtideError where nothing can."""
    outgrown: Callable[[Project, Computer], Mapping[str, str]] = lambda _project, _computer: {}
    """Base tables to which what computes can add no row as they are, and why."""
    pieces: Callable[[], PieceSizes] = PieceSizes
    """How much of a backlog, or of a rebuild, one update takes."""
    fan_in: int = FAN_IN
    """How many small files of a table are merged into one."""
    on_change: Callable[[Project, Computer], None] = lambda _project, _computer: None
    """Told when another project is at work in the run."""

    @cached_property
    def executor(self) -> Executor:
        return self._executor(self.project, self.computer)

    def _executor(self, project: Project, computer: Computer) -> Executor:
        retention = project.settings.retention
        tidying = Tidying(
            self.store, Cuts(project.graph), retention=retention, clock=self.clock.now, fan_in=self.fan_in
        )
        return Executor(computer, self.store, tidying)

    @contextmanager
    def leased(self, *, tell: Callable[[str], None] = lambda _sentence: None) -> Iterator[RunLease]:
        """The right to write, for a run. Only then are tables changed, and the catalog's books kept."""
        with (
            self._lease(tell) as lease,
            regularly(lambda: self.catalog.prune(self.clock.now()), every=_PRUNE_EVERY, threads=self.threads),
        ):
            self.store.authority = lease
            if lease.must_fence:
                self.store.fence(at=self.clock.now())
                lease.fenced()
            yield lease

    def _lease(self, tell: Callable[[str], None]) -> RunLease:
        return RunLease(
            self.places.lock,
            self.catalog.seat,
            tell=tell,
            clock=self.clock,
            threads=self.threads,
            disk=self.disk,
            lock=self.lock,
            processes=self.processes,
        )

    def engine(self, *, once: bool = False, watch: bool = False) -> Engine:
        """An engine that goes on where the last one stopped. The caller holds the lease.

        With `watch` it follows the files of its project.
        """
        # Reservations pace updates by periods to come; a single pass has none, and would wait for each in vain.
        scheduled = unpaced if once else _as_it_is
        project = scheduled(self.project)
        require_tracks(project, self.catalog)
        # Before the catalog is brought up to the logs: these are not at their end yet.
        places = (self.places.flows, self.places.flows_of_earlier_versions)
        interrupted = sorted(place / name for place in places for name in names_in(self.disk, place))
        finish_interrupted(interrupted, self.store)
        reconcile(project.graph, self.store, self.catalog, self.clock.now())
        restamp(project, self.store, self.catalog, self.disk)
        self.computer.streams.begin()
        events: Mailbox[Event] = self.threads.mailbox()
        news = News(self.disk, self.places.trouble, log=self.places.log)
        surroundings = self._watch(events, news)
        memory = UpdateMemory(suspects=Suspects(self.threads), absences=Absences(self.disk), pieces=self.pieces())
        arrange = partial(self._arranged, memory=memory, surroundings=surroundings)
        feed_set = FeedSet(
            project.feeds.values(),
            project.root,
            self.catalog.arrivals,
            known={name: self.catalog.arrivals.known_paths(name) for name in project.feeds},
            disk=self.disk,
        )
        beginning = beginning_of(project, self.catalog, revised=revised_views(project.graph, self.store))
        losses = LossFinder(project, self.catalog, self.store).find(holdings(project))
        mendings = [mending_of(loss, project.graph, self.catalog, self.disk) for loss in losses]
        mendings += [
            outgrown_mending(name, reason, project.graph, self.catalog, self.disk)
            for name, reason in self.outgrown(project, self.computer).items()
        ]
        trace = TraceWriter(self.places.trace, beginning, disk=self.disk)
        return Engine(
            scheduler_from(beginning, trace.recording(reach_of(project))),
            arrange(self.project, self.computer),
            events=events,
            surroundings=surroundings,
            news=news,
            feed_set=feed_set,
            rearranging=Rearranging(
                reload=self._reloaded,
                arrange=lambda changed: arrange(changed, self._recomputed(changed)),
                scheduled=scheduled,
                catalog=self.catalog,
                store=self.store,
                clock=self.clock.now,
                disk=self.disk,
                outgrown=lambda arrangement: self.outgrown(arrangement.project, arrangement.computer),
            ),
            catalog=self.catalog,
            absences=memory.absences,
            rebuilds=memory.rebuilds,
            clock=self.clock,
            threads=self.threads,
            trace=trace,
            disk=self.disk,
            mendings=mendings,
            watch=ProjectWatch(project.root, clock=self.clock.steady) if watch else None,
            on_change=lambda arrangement: self.on_change(arrangement.project, arrangement.computer),
        )

    def _arranged(
        self, project: Project, computer: Computer, *, memory: UpdateMemory, surroundings: SurroundingsWatch
    ) -> Arrangement:
        """A project at work, with what updates of any project leave behind."""
        worker = UpdateWorker(
            self.executor if computer is self.computer else self._executor(project, computer),
            computer,
            feeds=project.feeds,
            graph=project.graph,
            store=self.store,
            catalog=self.catalog,
            memory=memory,
            clock=self.clock,
            surroundings=surroundings,
        )
        units = UnitWorker(
            worker,
            computer,
            graph=project.graph,
            catalog=self.catalog,
            clock=self.clock,
            surroundings=surroundings,
            memory=memory,
        )
        return Arrangement(project=project, worker=units, computer=computer)

    def _reloaded(self) -> Project:
        if self.reload is None:
            raise UsageError(
                "This warehouse was declared in Python and has no files that it could be read from again.",
                way_out="End the run, and start it with other declarations.",
            )
        return self.reload()

    def _recomputed(self, project: Project) -> Computer:
        return self.computer if self.recompute is None else self.recompute(project)

    def _require_seat(self) -> None:
        """It must be there where it is kept who runs the warehouse: without it nothing can be committed."""
        with suppress(LeaseLostError):  # That ends the run, and is no trouble that passes.
            self.store.authority.require()

    def _watch(self, events: Mailbox[Event], news: News) -> SurroundingsWatch:
        """Whoever looks after disk, database and what computes during a run."""
        settings, places = self.project.settings, self.places
        written = [places.tables, places.state]
        if places.catalog_folder is not None:
            written.append(places.catalog_folder)
        return SurroundingsWatch(
            [
                *disk_checks(self.disk, written, min_free=settings.min_free, written=written),
                Check(look=self.catalog.require_answer, is_quick=False),
                Check(look=self._require_seat, is_quick=False),
                *self.checks(),
            ],
            events=events,
            tell=news.tell_trouble,
            backoff=RetryPolicy(backoff=settings.retry.backoff, longest=settings.retry.longest),
            clock=self.clock.onward,
            threads=self.threads,
        )


def open_store(
    project: Project,
    disk: Disk | None = None,
    logs: DeltaLogs | None = None,
    encoding: RowEncoding | None = None,
) -> Store:
    """The tables; each with its time column, even where a flow is the first to ask for it."""
    columns = time_columns_of(project.graph.values())
    return Store(Places(project).tables, time_columns=columns, disk=disk, logs=logs, encoding=encoding)


def _as_it_is(project: Project) -> Project:
    return project


def unpaced(project: Project) -> Project:
    """The same project without reservations: what is there is updated by its deadlines, as soon as a track is idle."""
    policy = project.settings.policy
    if policy.adaptive is None:
        return project
    unreserved = replace(policy, adaptive=None, ordering="edf")
    return replace(project, settings=replace(project.settings, policy=unreserved))


@contextmanager
def regularly(do: Callable[[], None], *, every: float, threads: Threads) -> Iterator[None]:
    """Do something each so many seconds while the block lasts. What fails is tried again the next time."""
    stop = threads.flag()

    def go_on() -> None:
        while not stop.wait(every):
            try:
                do()
            except FreshtideError:
                continue  # Whatever it is, the run meets it too, and tells.

    task = threads.spawn(go_on, name="regularly")
    try:
        yield
    finally:
        stop.set()
        task.join()
