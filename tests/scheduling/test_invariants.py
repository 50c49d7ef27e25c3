"""A check that finds nothing proves nothing: each statement is broken once by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from freshtide.core.events import DataArrived, UpdateFinished
from freshtide.scheduling import Scheduler
from freshtide.scheduling.conditions import TableStatus
from freshtide.scheduling.situation import Situation

from .bench import PLAIN, table


def scheduler_at_work() -> Scheduler:
    """`runs` is being updated on the only track, `waits` could be, `idle` has nothing to load."""
    tables = [table(name, freshness=0.0, safe=0.0) for name in ("runs", "waits", "idle")]
    scheduler = Scheduler(tables, tracks=1, policy=PLAIN, uniform=lambda: 0.0)
    scheduler.handle([DataArrived("runs", 1.0), DataArrived("runs", 2.0)], 2.0)
    scheduler.handle([DataArrived("waits", 3.0), DataArrived("waits", 4.0)], 4.0)
    scheduler.check()
    return scheduler


def lose_the_track(situation: Situation) -> None:
    situation.tables["runs"].condition.track = 5


def free_the_track(situation: Situation) -> None:
    situation.dispatcher.available = 1


def mix_up_what_is_pending(situation: Situation) -> None:
    situation.tables["waits"].pending.stamps.reverse()


def take_too_much(situation: Situation) -> None:
    situation.tables["runs"].pending.taken = 3


def take_without_running(situation: Situation) -> None:
    situation.tables["waits"].pending.taken = 1


def fail_half(situation: Situation) -> None:
    situation.tables["idle"].condition.status = TableStatus.FAILED


def call_a_learner_plain(situation: Situation) -> None:
    situation.tables["idle"].plain = True


def leave_the_queue_by_the_window(situation: Situation) -> None:
    situation.tables["waits"].candidate.ticket = 0


def withdraw_one_that_could_start(situation: Situation) -> None:
    situation.dispatcher.withdraw(situation.tables["waits"])


def let_one_wait_with_nothing_to_load(situation: Situation) -> None:
    situation.dispatcher.put(situation.tables["idle"])


def leave_a_track_idle(situation: Situation) -> None:
    situation.dispatcher.give_back(situation.tables["runs"])
    situation.tables["runs"].pending.drop_taken()
    situation.dispatcher.is_stirred = False


def lose_a_cost(situation: Situation) -> None:
    situation.tables["idle"].estimate.everyone.total = 0.0


def set_back(situation: Situation) -> None:
    situation.tables["idle"].condition.freshness = -1.0


@pytest.mark.parametrize(
    ("deed", "statement"),
    [
        (lose_the_track, "A table has at most one update and a track at most one"),
        (free_the_track, "The available tracks are exactly those on which nothing runs"),
        (mix_up_what_is_pending, "What is pending is ascending"),
        (take_too_much, "An update takes no more than is pending"),
        (take_without_running, "only while it runs"),
        (fail_half, "A table is able if it is active"),
        (call_a_learner_plain, "Of a plain table nothing counts"),
        (leave_the_queue_by_the_window, "A candidate with a ticket stands in the queue"),
        (withdraw_one_that_could_start, "Candidates wait exactly if they could start"),
        (let_one_wait_with_nothing_to_load, "Candidates wait exactly if they could start"),
        (leave_a_track_idle, "After a decision nothing waits for its home track"),
        (lose_a_cost, "is the sum of what each is"),
        (set_back, "freshness goes back only with an update that revised it"),
    ],
)
def test_a_broken_statement_is_told(deed: Callable[[Situation], None], statement: str) -> None:
    scheduler = scheduler_at_work()
    deed(scheduler._situation)
    with pytest.raises(AssertionError, match=statement):
        scheduler.check()


def test_a_revision_may_set_a_table_back() -> None:
    scheduler = scheduler_at_work()
    scheduler.handle([UpdateFinished("runs", 0, -1.0, -1.0, 1.0, revised=True)], 5.0)
    scheduler.check()
