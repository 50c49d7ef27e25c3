"""Noticing outages while they begin: a feed is silent when nothing happens, so somebody has to keep the time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from freshtide.catalog import Catalog
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.errors import SurroundingsError
from freshtide.core.feeds import Feed
from freshtide.core.health import Outage, outage_at
from freshtide.feeds import says_the_same
from freshtide.runs import FeedRhythm, rhythm_of

# What is learnt of a feed is learnt anew when twice as many files have come, and from then on every so many.
_FIRST_LEARNT_AFTER = 4
_LEARN_AFTER = 500

OutageListener = Callable[[str, Outage], None]
"""Called with a feed and its outage, when that begins and, with an end, when it is over."""


@dataclass(slots=True, kw_only=True)
class _Watched:
    feed: Feed
    silent_since: float
    rhythm: FeedRhythm | None = None
    files: int = 0
    learn_at: int = _FIRST_LEARNT_AFTER
    """How many files have to have come for it to be learnt anew."""
    alarm_at: float | None = None
    """When its silence will be looked at; None while that cannot tell anything new."""
    outage: Outage | None = None


class OutageWatch:
    """Keeps for every feed the moment at which its silence will have become an outage (section II).

    What was before the watch began is not held against a feed: nobody looked for its files. While nothing is due, a
    look compares two numbers. Files that come move no alarm; one that goes off too early is set anew.
    """

    def __init__(self, feeds: Iterable[Feed], catalog: Catalog, *, poll: float, tell: OutageListener) -> None:
        self._feeds = tuple(feeds)
        self._catalog = catalog
        self._poll = poll
        self._tell = tell
        self._watched: dict[str, _Watched] = {}
        self._alarms: list[tuple[float, str]] = []
        self._looked_at = float("-inf")

    def follow(self, feeds: Iterable[Feed], now: float) -> None:
        """Watch these feeds from now on. Of those that were watched before, and say the same, silences go on."""
        self._feeds = tuple(feeds)
        same = {feed.name for feed in self._feeds if self._is_watched(feed)}
        for name in [name for name in self._watched if name not in same]:
            if self._watched[name].outage is not None:
                self._catalog.outages.end(name, at=now)
            del self._watched[name]
        self.begin(now)

    def _is_watched(self, feed: Feed) -> bool:
        watched = self._watched.get(feed.name)
        return watched is not None and says_the_same(watched.feed, feed)

    def begin(self, now: float) -> None:
        for feed in self._feeds:
            if feed.name in self._watched:
                continue
            watched = _Watched(feed=feed, silent_since=now)
            if feed.rhythm.period is None:
                self._learn(watched)
                self._set_alarm(watched)
            else:
                # No silence is too long before that, and a start should not wait for what can be learnt later.
                self._alarm_at(watched, now + feed.rhythm.period)
            self._watched[feed.name] = watched

    def arrived(self, files: Iterable[Arrival]) -> None:
        """Files have been registered; only those with data to load end a silence."""
        by_feed: dict[str, list[float]] = {}
        for file in files:
            if file.state is ArrivalState.READY:
                by_feed.setdefault(file.feed, []).append(file.arrived_at)
        for name, moments in by_feed.items():
            watched = self._watched[name]
            watched.silent_since = max(watched.silent_since, *moments)
            watched.files += len(moments)
            if watched.files >= watched.learn_at:
                watched.learn_at = watched.files + min(watched.files, _LEARN_AFTER)
                self._learn(watched)
                if watched.outage is None:
                    self._set_alarm(watched)
            if watched.outage is not None:
                self._end(watched, watched.outage, min(moments))

    def look(self, now: float) -> None:
        """See which silences have become outages."""
        if now < self._looked_at:
            self._set_back(self._looked_at - now)
        self._looked_at = now
        due = []
        while self._alarms and self._alarms[0][0] < now:
            at, name = heapq.heappop(self._alarms)
            watched = self._watched.get(name)
            if watched is not None and watched.alarm_at == at:
                watched.alarm_at = None
                due.append(watched)
        for watched in due:
            try:
                self._judge(watched, now)
            except SurroundingsError:
                for left in due[due.index(watched) :]:
                    # It is judged when the catalog can be asked again.
                    self._alarm_at(left, now)
                raise

    def _judge(self, watched: _Watched, now: float) -> None:
        """See whether a silence has become an outage."""
        if watched.rhythm is None or self._overdue(watched, now) is not None:
            # Before raising an alarm: what the feed has been like lately.
            self._learn(watched)
        outage = self._overdue(watched, now)
        if outage is None:
            self._set_alarm(watched)
        else:
            self._catalog.outages.begin(watched.feed.name, outage)
            watched.outage = outage
            self._tell(watched.feed.name, outage)

    def _set_back(self, step: float) -> None:
        """The clock was set back: silences have lasted as long as before, and alarms go off as soon as before."""
        self._alarms = [(at - step, name) for at, name in self._alarms]
        for watched in self._watched.values():
            watched.silent_since -= step
            if watched.alarm_at is not None:
                watched.alarm_at -= step

    def end(self, now: float) -> None:
        """From now on nobody looks for files."""
        if any(watched.outage is not None for watched in self._watched.values()):
            self._catalog.outages.abandon(now)

    def _overdue(self, watched: _Watched, now: float) -> Outage | None:
        return None if watched.rhythm is None else outage_at(watched.rhythm.rhythm, watched.silent_since, now)

    def _end(self, watched: _Watched, outage: Outage, at: float) -> None:
        self._catalog.outages.end(watched.feed.name, at=at)
        watched.outage = None
        self._set_alarm(watched)
        self._tell(watched.feed.name, replace(outage, ended_at=at, returned=True))

    def _learn(self, watched: _Watched) -> None:
        if watched.rhythm is None or not watched.rhythm.declared:
            watched.rhythm = rhythm_of(watched.feed, self._catalog, poll=self._poll)

    def _set_alarm(self, watched: _Watched) -> None:
        """For the moment at which the silence is too long, if that is known."""
        if watched.rhythm is not None:
            self._alarm_at(watched, watched.silent_since + watched.rhythm.rhythm.longest_silence)

    def _alarm_at(self, watched: _Watched, at: float) -> None:
        """One alarm counts for each feed; those that were set before it are passed by."""
        if watched.alarm_at != at:
            watched.alarm_at = at
            heapq.heappush(self._alarms, (at, watched.feed.name))
