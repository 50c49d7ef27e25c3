"""Noticing what arrives: files in feeds, or none for too long, and requests from other terminals."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from freshtide.catalog import Catalog, Request
from freshtide.core.arrivals import Arrival
from freshtide.core.errors import SurroundingsError
from freshtide.core.events import Event
from freshtide.core.graph import TableGraph
from freshtide.feeds import FeedSet, Intake
from freshtide.runs import pending_announcements
from freshtide.runtime.absences import Absences
from freshtide.runtime.outages import OutageWatch
from freshtide.runtime.watching import Surroundings
from freshtide.world import Clock, Mailbox, Task, Threads

_ASK_EVERY = 0.25
_RELEASE_EVERY = 60.0
# Looking takes at most one part in so many of the time, unless that is less often than the project asks for.
_PAUSE_PER_LOOK = 50
_SHORTEST_PAUSE = 0.01


class ArrivalWatcher:
    """A thread that has the feeds looked at, and looks after everything else that comes from outside."""

    def __init__(
        self,
        feeds: FeedSet,
        graph: TableGraph,
        catalog: Catalog,
        *,
        events: Mailbox[Event],
        on_request: Callable[[Request], None],
        outages: OutageWatch,
        surroundings: Surroundings,
        absences: Absences,
        more_faults: Callable[[], Mapping[str, tuple[str, ...]]],
        released: Callable[[float], list[Arrival]],
        poll: float,
        clock: Clock,
        threads: Threads,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """`more_faults` are those of feeds that bring no files, `released` duplicates that are none any more.

        `between` is called before each look, on the same thread.
        """
        self._between = between
        self._released = released
        self._released_at = float("-inf")
        self._more_faults = more_faults
        self._feeds = feeds
        self._graph = graph
        self._catalog = catalog
        self._events = events
        self._on_request = on_request
        self._outages = outages
        self._surroundings = surroundings
        self._absences = absences
        self._poll = poll
        self._clock = clock
        self._last_request = 0
        self._told: dict[str, tuple[str, ...]] | None = None
        self._asked_at = float("-inf")
        self._threads = threads
        self._stop = threads.flag()
        self._quiet = threads.flag()
        self.intake = Intake(
            feeds,
            graph,
            catalog.arrivals,
            events=events,
            clock=clock,
            on_found=self._quiet.clear,
            on_registered=outages.arrived,
        )
        self._task: Task | None = None
        self.fault: BaseException | None = None

    def start(self) -> None:
        self._task = self._threads.spawn(self._run, name="arrivals")

    def stop(self) -> None:
        self._stop.set()
        if self._task is not None:
            self._task.join()
        self._feeds.close()

    def follow(self, graph: TableGraph, *, released: Callable[[float], list[Arrival]], poll: float) -> None:
        """From now on these tables load what arrives; for the thread that looks, between two looks."""
        self._graph, self._released, self._poll = graph, released, poll
        self.intake.follow(graph)

    @property
    def quiet(self) -> bool:
        """Whether the last look found nothing new, nothing still settling and nothing asked for."""
        return self._quiet.is_set()

    def _run(self) -> None:
        try:
            self._surroundings.insist(lambda: self._outages.begin(self._clock.now()))
            while not self._stop.is_set():
                begun = self._clock.steady()
                try:
                    self._look()
                except SurroundingsError as error:
                    self._wait_for_better_times(error)
                self._stop.wait(self._pause(took=self._clock.steady() - begun))
        except BaseException as error:
            self.fault = error

    def _pause(self, *, took: float) -> float:
        """Few feeds are looked at more often than they have to be: what arrives in them waits for nothing else."""
        return min(self._poll, max(_SHORTEST_PAUSE, took * _PAUSE_PER_LOOK))

    def _wait_for_better_times(self, error: SurroundingsError) -> None:
        self._quiet.clear()
        self._surroundings.suspect(error)
        while not (self._surroundings.is_well or self._stop.is_set()):
            self._stop.wait(_ASK_EVERY)

    def _look(self) -> None:
        self._between()
        now, begun = self._clock.now(), self._clock.steady()
        asked = self._ask(begun) | self._go_on()
        released: list[Arrival] = []
        if begun - self._released_at >= _RELEASE_EVERY:
            released = self._released(now)
            self._released_at = begun
        found = self.intake.look(now, steady=begun, released=released)
        self._tell_faults()
        if not found and not asked and not self._feeds.settling:
            self._quiet.set()
        # After what was found has been registered: a file that ends a silence at the last moment is in time.
        self._outages.look(now)

    def _tell_faults(self) -> None:
        """Let everybody know what cannot be looked at, when that has changed."""
        faults = {**self._feeds.faults, **self._more_faults()}
        if faults != self._told:
            self._catalog.faults.replace(faults)
            self._told = faults

    def _go_on(self) -> bool:
        """Announce once more what waits for tables that can go on, because a file is back that was away."""
        tables = [table for table in self._absences.ended() if table in self._graph]
        for unit in self._graph.units.of_all(tables):
            beside = [self._graph[table] for table in self._graph.units[unit]]
            for event in pending_announcements(unit, beside, self._catalog):
                self._events.put(event)
        self._absences.forget(tables)
        return bool(tables)

    def _ask(self, moment: float) -> bool:
        """Take up requests from other terminals, not quite as often as files are looked for."""
        if moment - self._asked_at < _ASK_EVERY:
            return False
        self._asked_at = moment
        requests = self._catalog.requests.open_after(self._last_request)
        for request in requests:
            if self._catalog.requests.take_up(request.id):
                self._on_request(request)
            self._last_request = request.id
        return bool(requests)
