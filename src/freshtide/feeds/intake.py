"""What feeds bring is written down, announced and acknowledged, in this order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from freshtide.core.arrivals import LOADABLE, Arrival, ArrivalState
from freshtide.core.events import DataArrived, Event
from freshtide.core.graph import TableGraph
from freshtide.feeds.admission import Ledger
from freshtide.feeds.feedset import FeedSet
from freshtide.world import Clock, Mailbox

_AT_ONCE = 1_000
# What is found first is announced soon, so that no track idles; later on fewer transactions count for more.
_REGISTER_FIRST, _REGISTER_EVERY = 0.005, 0.02


class Register(Ledger, Protocol):
    """A ledger that arrivals are written into."""

    def register_all(self, arrivals: Sequence[tuple[Arrival, tuple[str, ...]]]) -> list[Arrival]:
        """Remember arrivals, each with the tables that are to load it; they come back as they are kept."""
        ...

    def announced(self, timestamp: float | None, feed: str) -> float:
        """The time stamp that the scheduler is told of an arrival."""
        ...


class Intake:
    """Takes in what the feeds of a project bring. Whatever fails on the way is brought again."""

    def __init__(
        self,
        feeds: FeedSet,
        graph: TableGraph,
        ledger: Register,
        *,
        events: Mailbox[Event],
        clock: Clock,
        on_found: Callable[[], None] = lambda: None,
        on_registered: Callable[[list[Arrival]], None] = lambda _arrivals: None,
    ) -> None:
        """`on_found` is called before anything that was found is registered, `on_registered` with what is news."""
        self._feeds = feeds
        self._graph = graph
        self._ledger = ledger
        self._events = events
        self._clock = clock
        self._on_found = on_found
        self._on_registered = on_registered
        self._is_unsure = False
        """Whether some of what is brought again may have been registered, before the ledger's answer was lost."""

    def follow(self, graph: TableGraph) -> None:
        """From now on these tables load what is brought."""
        self._graph = graph

    def look(self, now: float, *, steady: float, released: Sequence[Arrival] = ()) -> bool:
        """Take in what has arrived by now; whether that is anything.

        `released` is what was left out before and is not any more. `steady` is the same moment by a clock that nobody
        sets.
        """
        self.register(released)
        found: list[Arrival] = []
        registered_at, interval = steady, _REGISTER_FIRST
        for folder in self._feeds.folders:
            brought = folder.poll(now, steady=steady)
            if not brought:
                continue
            self._on_found()
            found += brought
            # The first are loaded while the last are still looked at, without a transaction for each.
            if self._clock.steady() - registered_at > interval:
                self.register(found)
                found.clear()
                registered_at, interval = self._clock.steady(), _REGISTER_EVERY
        self.register(found)
        self._is_unsure = False
        return bool(found) or registered_at != steady

    def register(self, found: Sequence[Arrival]) -> None:
        """Write arrivals down, then announce those that can be loaded and are news. They need not be brought again.

        Not too many at once: nobody else can write into the catalog meanwhile, and the first can be loaded.
        """
        for start in range(0, len(found), _AT_ONCE):
            some = found[start : start + _AT_ONCE]
            readers = {file.feed: self._graph.readers(file.feed) for file in some}
            there = self._registered_before(some) if self._is_unsure else []
            self._is_unsure = True
            places = {(file.feed, file.position) for file in there}
            new = [file for file in some if (file.feed, file.position) not in places]
            registered = self._ledger.register_all([(file, readers[file.feed]) for file in new])
            known = {file.id for file in new}
            is_news = [file for file in registered if file.id not in known or file.state is ArrivalState.REFUSED]
            for file in (news := [*there, *is_news]):
                if file.state in LOADABLE:
                    timestamp = self._ledger.announced(file.timestamp, file.feed)
                    for unit in self._graph.units.of_all(readers[file.feed]):
                        self._events.put(DataArrived(table=unit, timestamp=timestamp))
            self._on_registered(news)
            self._feeds.acknowledge(some)

    def _registered_before(self, found: Sequence[Arrival]) -> list[Arrival]:
        """Those that the ledger has, as it has them."""
        there = []
        for feed in {file.feed for file in found}:
            sought = {file.position: file for file in found if file.feed == feed}
            known = self._ledger.by_paths(feed, list(sought))
            there += [file for path, file in known.items() if replace(file, id=0) == replace(sought[path], id=0)]
        return there
