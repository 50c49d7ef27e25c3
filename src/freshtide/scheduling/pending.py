"""What is pending of a table: time stamps to load, and what is to be computed anew."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(slots=True)
class Pending:
    """What no update has brought into the table yet, and which part of it the running update has taken."""

    stamps: list[float] = field(default_factory=list)
    """Time stamps that no update has gone up to yet: of files, or for a view of its trailing edge.

    The first `taken` are those of the running update. Those and the others are ascending."""
    since: list[float] = field(default_factory=list)
    """When each of them came up; never descending but for that, so that the first is the oldest."""
    taken: int = 0
    """How many the running update has taken; 0 while none runs."""
    left_over: int | None = None
    """How many were pending when an update last ended, or when a piece of a first backlog was proposed."""
    rebuild_wanted: bool = False
    revision_wanted: bool = False
    """Whether sources have changed behind the table's back: it is to be updated even if it gets no fresher."""
    wanted_since: float = 0.0
    """When a rebuild or a revision was asked for."""
    rebuild_taken: bool = False
    revision_taken: bool = False
    """By the running update."""
    rebuild_needed: bool = False
    """Whether a rebuild that is wanted or runs is more than wished for: the table is not what it should be without."""
    loads_wait: bool = False
    """Whether nothing can be loaded before that rebuild is done."""
    rebuild_dropped: bool = False
    """Whether the rebuild that the running update belongs to is not to go on after it."""
    in_parts: bool = False
    """Whether a rebuild goes in parts, one of which has ended at least."""
    loads_first: bool = False
    """Whether a part of a rebuild has ended: what is to be loaded goes before the next part."""

    def arrive(self, timestamp: float, at: float) -> None:
        """Data has come, in order or late."""
        stamps = self.stamps
        if not stamps or timestamp >= stamps[-1]:
            stamps.append(timestamp)
            self.since.append(at)
            return
        place = bisect_right(stamps, timestamp, self.taken)
        stamps.insert(place, timestamp)
        # It waits no shorter for being late than what it stands before.
        self.since.insert(place, min([at, *self.since[place : place + 1]]))

    def arrive_together(self, timestamp: float, at: float) -> None:
        """Data of an update stream has come: with what waits already it is one piece, as old as the oldest of it."""
        if len(self.stamps) > self.taken:
            self.stamps[-1], self.since[-1] = max(self.stamps[-1], timestamp), min(self.since[-1], at)
        else:
            self.stamps.append(timestamp)
            self.since.append(at)

    def follow(self, edge: float | None, freshness: float | None, now: float) -> None:
        """The trailing edge of a view's sources is there now."""
        stamps, since, taken = self.stamps, self.since, self.taken
        # It can have gone back: a source has been set back by hand.
        while len(stamps) > taken and (edge is None or stamps[-1] > edge):
            stamps.pop()
            since.pop()
        while len(stamps) > taken and freshness is not None and stamps[taken] <= freshness:
            del stamps[taken], since[taken]
        if edge is None or (freshness is not None and edge <= freshness):
            return
        if not stamps or stamps[-1] < edge:
            stamps.append(edge)
            since.append(now)

    def want_revision(self, now: float) -> None:
        """Sources have changed behind the table's back."""
        if not self.revision_wanted:
            self.revision_wanted, self.wanted_since = True, now

    def take(self, upto: float) -> None:
        """An update has been started that goes up to there."""
        stamps = self.stamps
        self.taken = len(stamps) if stamps[-1] <= upto else bisect_right(stamps, upto)

    @property
    def goes_between(self) -> bool:
        """Whether the next update brings what is pending, between two parts of a rebuild."""
        waits = self.loads_wait or not (self.stamps or self.revision_wanted)
        return self.loads_first and self.rebuild_wanted and not waits

    def go_on(self, *, rebuild: bool, revision: bool) -> None:
        """A part of what an update had taken has ended, and others are to follow.

        A view whose sources have changed behind its back can bring nothing else before it has followed them.
        """
        self.in_parts = True
        self.rebuild_wanted |= rebuild
        self.loads_first |= rebuild
        self.revision_wanted |= revision

    def want_rebuild(self, now: float, *, wished: bool, before_loads: bool) -> None:
        """The table is to be computed anew. What is needed once stays so, whoever else wishes for it."""
        self.rebuild_wanted, self.wanted_since = True, now
        self.rebuild_needed |= not wished
        self.loads_wait |= before_loads

    def drop_rebuild(self) -> bool:
        """Forget a rebuild that was only wished for; False if there is none."""
        if self.rebuild_needed or not (self.rebuild_wanted or self.rebuild_taken):
            return False
        self.rebuild_dropped = self.rebuild_taken
        self.rebuild_wanted = self.in_parts = self.loads_first = False
        return True

    def end_rebuild(self, *, goes_on: bool) -> None:
        """An update of a rebuild has ended well: a part of it that others are to follow, or all."""
        self.loads_first = self.rebuild_dropped = False
        if not goes_on and not self.rebuild_wanted:
            self.rebuild_needed = self.loads_wait = False

    def take_wanted(self) -> None:
        """An update has been started that computes anew what was asked for; one between two parts does so as ever."""
        if self.goes_between:
            self.loads_first = False
        else:
            self.rebuild_taken, self.rebuild_wanted = self.rebuild_wanted, False
        self.revision_taken, self.revision_wanted = self.revision_wanted, False

    def drop_taken(self) -> None:
        """The update has been committed."""
        stamps, taken = self.stamps, self.taken
        self.taken = 0
        if taken == len(stamps):
            stamps.clear()
            self.since.clear()
        else:
            del stamps[:taken], self.since[:taken]

    def drop_untaken(self) -> None:
        """What the running update has not taken is of no interest any more."""
        del self.stamps[self.taken :], self.since[self.taken :]

    def put_back(self) -> None:
        """The update has failed: what it had taken is pending again."""
        self.taken = 0
        self.rebuild_wanted |= self.rebuild_taken and not self.rebuild_dropped
        self.revision_wanted |= self.revision_taken
        self.rebuild_taken = self.revision_taken = self.rebuild_dropped = False
        together = sorted(zip(self.stamps, self.since, strict=True))
        self.stamps, self.since = [stamp for stamp, _ in together], [came for _, came in together]
        for at in range(len(self.since) - 2, -1, -1):
            self.since[at] = min(self.since[at], self.since[at + 1])

    @property
    def is_wanted_anew(self) -> bool:
        """Whether something that was loaded before is to be computed again."""
        return self.rebuild_wanted or self.revision_wanted

    @property
    def waits_since(self) -> float | None:
        """Since when there has been something that no update has taken; None if there is nothing."""
        since = self.since[self.taken] if len(self.since) > self.taken else None
        if self.is_wanted_anew:
            return self.wanted_since if since is None else min(since, self.wanted_since)
        return since
