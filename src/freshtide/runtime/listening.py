"""All that reaches a run from outside: files, silences of feeds, and requests from other terminals."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from freshtide.catalog import Catalog, Request, RequestKind
from freshtide.core.arrivals import Arrival
from freshtide.core.errors import FreshtideError, SurroundingsError
from freshtide.core.events import Event, TablePaused
from freshtide.feeds import FeedSet, released_duplicates
from freshtide.project import Project
from freshtide.requests import RequestHandler
from freshtide.runtime.absences import Absences
from freshtide.runtime.applying import Applying
from freshtide.runtime.arrangements import Arrangement, Successor
from freshtide.runtime.arrivals import ArrivalWatcher
from freshtide.runtime.backfills import Backfills
from freshtide.runtime.news import News
from freshtide.runtime.outages import OutageListener, OutageWatch
from freshtide.runtime.owing import Owed
from freshtide.runtime.projectwatch import ProjectWatch
from freshtide.runtime.rearranging import Rearranging
from freshtide.runtime.singlerows import SingleRows
from freshtide.runtime.watching import SurroundingsWatch
from freshtide.world import Clock, Disk, Mailbox, Threads


class Listening:
    """What the arrivals' thread looks after, for the project that is at work. What it finds out become events."""

    def __init__(
        self,
        arrangement: Arrangement,
        *,
        rearranging: Rearranging,
        watch: ProjectWatch | None,
        feed_set: FeedSet,
        single_rows: SingleRows,
        catalog: Catalog,
        absences: Absences,
        events: Mailbox[Event],
        owed: Owed,
        surroundings: SurroundingsWatch,
        news: News,
        leaving: Callable[[], Collection[str]],
        disk: Disk,
        clock: Clock,
        threads: Threads,
    ) -> None:
        """`leaving` are units that were taken out and still run."""
        project = arrangement.project
        self._graph = project.graph
        self._catalog = catalog
        self._events = events
        self._surroundings = surroundings
        self._feed_set = feed_set
        self._single_rows = single_rows
        self._disk = disk
        self._clock = clock
        self.on_outage: OutageListener | None = None
        self._outages = OutageWatch(
            project.feeds.values(),
            catalog,
            poll=project.settings.poll,
            tell=lambda feed, outage: None if self.on_outage is None else self.on_outage(feed, outage),
        )
        self.applying = Applying(
            rearranging,
            arrangement,
            requests=catalog.requests,
            owed=owed,
            surroundings=surroundings,
            threads=threads,
            take_up=self._follow,
            leaving=leaving,
            tell=news.tell,
            watch=watch,
        )
        self._arrivals = ArrivalWatcher(
            feed_set,
            project.graph,
            catalog,
            events=events,
            on_request=self._accept,
            outages=self._outages,
            surroundings=surroundings,
            absences=absences,
            more_faults=lambda: single_rows.faults,
            released=self._released(project),
            poll=project.settings.poll,
            clock=clock,
            threads=threads,
            between=self.applying.look,
        )
        self._requests = self._handler(project)
        self.backfills = Backfills(project.graph, catalog.requests, owed)

    def start(self) -> None:
        self._arrivals.start()

    def stop(self) -> None:
        self._arrivals.stop()

    def stop_applying(self) -> None:
        """Once nobody waits for better times any longer."""
        self.applying.stop()

    def end_outages(self) -> None:
        """From now on nobody looks for files."""
        self._outages.end(self._clock.now())

    @property
    def fault(self) -> BaseException | None:
        return self._arrivals.fault

    @property
    def is_quiet(self) -> bool:
        """Whether nothing new was found by the last look, nothing is asked for, and the project is what it was."""
        return self._arrivals.quiet and not self.applying.is_under_way

    def _follow(self, successor: Successor) -> None:
        """Look for files, and listen, for the project that is at work next."""
        arrangement = successor.arrangement
        project = arrangement.project
        self._single_rows.follow(
            arrangement.computer.streams, arrangement.worker, feeds=project.feeds, graph=project.graph
        )
        self._feed_set.follow(project.feeds.values(), known=successor.known)
        self._arrivals.follow(project.graph, released=self._released(project), poll=project.settings.poll)
        self._requests = self._handler(project)
        self._graph = project.graph
        self.backfills.follow(project.graph)
        for event in successor.announcements:
            self._events.put(event)
        self._surroundings.insist(lambda: self._outages.follow(project.feeds.values(), self._clock.now()))

    def _accept(self, request: Request) -> None:
        """Turn a request into an event."""
        try:
            message = self._begin(request)
            if message is not None:
                self._catalog.requests.finish(request.id, message)
        except SurroundingsError:
            raise  # It is taken up again when they are well.
        except FreshtideError as error:
            self._catalog.requests.finish(request.id, str(error), succeeded=False)

    def _begin(self, request: Request) -> str | None:
        """Begin what is asked; the message if it is done with that."""
        if request.kind in (RequestKind.PLAN, RequestKind.APPLY):
            self.applying.ask(request)
            return None
        rows = self._catalog.tables.all()
        answer = self._requests.carry_out(request.kind, request.target)
        for table in answer.rebuilds:
            self.backfills.begin(request.id, table, rows)
        if answer.cancels:
            self.backfills.cancel(request.id, self._graph.called(request.target).name)
        for event in answer.events:
            if isinstance(event, TablePaused):
                self.backfills.paused(event.table)
            self._events.put(event)
        return None if answer.rebuilds or answer.cancels else answer.message

    def _released(self, project: Project) -> Callable[[float], list[Arrival]]:
        return partial(released_duplicates, project.feeds, self._catalog.arrivals, disk=self._disk)

    def _handler(self, project: Project) -> RequestHandler:
        return RequestHandler(
            project.feeds,
            project.graph,
            self._catalog,
            register=self._arrivals.intake.register,
            clock=self._clock.now,
            disk=self._disk,
        )
