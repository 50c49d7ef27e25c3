"""What holds of a scheduler between any two calls, whatever has happened.

Each statement is a function: its docstring says it, and what it yields breaks it. Test benches check all of them after
every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from freshtide.scheduling.conditions import NOT_RUNNING, TableStatus
from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.situation import Situation


class Invariants:
    """The statements about one scheduler. What it has seen before is remembered, for those about two moments."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._freshness = {name: table.condition.freshness for name, table in situation.tables.items()}

    def check(self) -> None:
        """Raise an AssertionError with the first statement that does not hold, and what breaks it."""
        for statement in (*_STATEMENTS, self._freshness_does_not_go_back):
            for broken in statement(self._situation):
                raise AssertionError(f"{statement.__doc__} But {broken}.")

    def _freshness_does_not_go_back(self, situation: Situation) -> Iterator[str]:
        """A table's freshness goes back only with an update that revised it."""
        for name, table in situation.tables.items():
            before, now = self._freshness[name], table.condition.freshness
            if before is not None and (now is None or now < before) and not table.condition.revised:
                yield f"that of '{name}' went from {before} to {now}"
            self._freshness[name] = now


def _one_update_for_a_table_and_a_track(situation: Situation) -> Iterator[str]:
    """A table has at most one update and a track at most one, and they name each other."""
    running = situation.dispatcher.running
    for track, table in running.items():
        if table.condition.track != track:
            yield f"'{table.name}' on track {track} says it is on {table.condition.track}"
    for table in situation.tables.values():
        track = table.condition.track
        if track != NOT_RUNNING and running.get(track) is not table:
            yield f"'{table.name}' says it is on track {track}, where it is not"


def _other_tracks_are_available(situation: Situation) -> Iterator[str]:
    """The available tracks are exactly those on which nothing runs."""
    dispatcher = situation.dispatcher
    idle = sum(1 << track for track in range(dispatcher.tracks) if track not in dispatcher.running)
    if dispatcher.available != idle:
        yield f"{dispatcher.available:b} are available and {idle:b} are idle"


def _pending_is_ascending(situation: Situation) -> Iterator[str]:
    """What is pending is ascending, apart in what the running update has taken and what it has not."""
    for table in situation.tables.values():
        stamps, taken = table.pending.stamps, table.pending.taken
        if len(stamps) != len(table.pending.since):
            yield f"'{table.name}' does not know since when"
        if not (_is_ascending(stamps[:taken]) and _is_ascending(stamps[taken:])):
            yield f"of '{table.name}' are pending {stamps}, {taken} of them taken"


def _only_running_updates_take(situation: Situation) -> Iterator[str]:
    """An update takes no more than is pending, and only while it runs."""
    for table in situation.tables.values():
        pending = table.pending
        if not 0 <= pending.taken <= len(pending.stamps):
            yield f"{pending.taken} of {len(pending.stamps)} are taken of '{table.name}'"
        takes = pending.taken or pending.rebuild_taken or pending.revision_taken
        if takes and table.condition.track == NOT_RUNNING:
            yield f"'{table.name}' is not running"


def _able_tables_take_part_now(situation: Situation) -> Iterator[str]:
    """A table is able if it is active and not to be tried again later, and those that are to be are known."""
    for name, table in situation.tables.items():
        condition = table.condition
        if condition.able != (condition.status is TableStatus.ACTIVE and condition.retry_at is None):
            yield f"'{name}' is {condition.status}, tried again at {condition.retry_at} and able: {condition.able}"
        if (condition.retry_at is not None) != (name in situation.retrying):
            yield f"'{name}' is tried again at {condition.retry_at}"


def _plain_tables_are_plain(situation: Situation) -> Iterator[str]:
    """Of a plain table nothing counts but what has arrived and was loaded."""
    for table in situation.tables.values():
        if not table.plain:
            continue
        condition, pending = table.condition, table.pending
        if table.sources or table.dependents or table.estimate.learns or table.spec.update_stream:
            yield f"'{table.name}' has sources, dependents, costs to learn or is an update stream"
        if not condition.able or condition.failures or condition.disturbed or condition.first_load:
            yield f"'{table.name}' is {condition}"
        if pending.is_wanted_anew or pending.rebuild_taken or pending.revision_taken:
            yield f"'{table.name}' is to be computed anew"


def _waiting_candidates_stand_in_queues(situation: Situation) -> Iterator[str]:
    """A candidate with a ticket stands in the queue of its lane, once, and nobody else stands there."""
    dispatcher = situation.dispatcher
    waiting = [table for table in situation.tables.values() if table.candidate.ticket]
    if dispatcher.waiting != len(waiting):
        yield f"{dispatcher.waiting} wait and {len(waiting)} have tickets"
    for queue, lane in zip(dispatcher.queues, dispatcher.partition.lanes, strict=True):
        standing = sorted(place for _, place, *_ in queue.best(len(situation.tables)))
        expected = [table.place for table in waiting if table.queue is queue]
        if standing != expected or len(queue) != len(expected):
            yield f"in {lane.label} stand {standing} and should {expected}"


def _those_wait_that_could_start(situation: Situation) -> Iterator[str]:
    """Candidates wait exactly if they could start: but for tables that the next decision looks at."""
    undecided = {table.name for table in situation.touched}
    for name, table in situation.tables.items():
        if name not in undecided and _could_start(table, situation) != (table.candidate.ticket > 0):
            yield f"'{name}' waits: {table.candidate.ticket > 0}"


def _idle_tracks_are_of_no_use(situation: Situation) -> Iterator[str]:
    """After a decision nothing waits for its home track, or for a free one, that is idle."""
    dispatcher = situation.dispatcher
    if situation.touched or situation.held or dispatcher.is_stirred:
        return
    for table in situation.tables.values():
        lane = table.lane
        may_use = lane.home | lane.free | (lane.promotable if dispatcher.partition.aggressive else 0)
        if table.candidate.ticket and dispatcher.available & may_use:
            yield f"'{table.name}' waits in {lane.label} while {dispatcher.available:b} are available"


def _costs_add_up(situation: Situation) -> Iterator[str]:
    """What all tables together are expected to take is the sum of what each is, and so is what was learnt of it."""
    estimates = [table.estimate for table in situation.tables.values()]
    total = sum(estimate.per_period for estimate in estimates)
    logs = sum(math.log(estimate.per_period) for estimate in estimates if estimate.model.scatter[0] > 0.0)
    for estimate in estimates[:1]:
        everyone = estimate.everyone
        for known, expected in ((everyone.total, total), (everyone.logs, logs)):
            if not math.isclose(known, expected, rel_tol=1e-6, abs_tol=1e-6):
                yield f"{known} is known and the sum is {expected}"


def _could_start(table: KnownTable, situation: Situation) -> bool:
    is_released = situation.adaptation is None or situation.adaptation.is_released(table)
    return table.condition.track == NOT_RUNNING and table.condition.able and is_released and table.is_behind


def _is_ascending(stamps: Sequence[float]) -> bool:
    return list(stamps) == sorted(stamps)


_STATEMENTS: tuple[Callable[[Situation], Iterator[str]], ...] = (
    _one_update_for_a_table_and_a_track,
    _other_tracks_are_available,
    _pending_is_ascending,
    _only_running_updates_take,
    _able_tables_take_part_now,
    _plain_tables_are_plain,
    _waiting_candidates_stand_in_queues,
    _those_wait_that_could_start,
    _idle_tracks_are_of_no_use,
    _costs_add_up,
)
