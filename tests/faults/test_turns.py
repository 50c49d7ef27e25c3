"""Threads that take turns: like those of the system, but for time and chance."""

from __future__ import annotations

import queue
from collections.abc import Callable
from random import Random

import pytest
from faults.turns import Process, StuckError, TurnClock, Turns, TurnThreads

from freshtide.world import Threads

DAY = 86_400.0


class World:
    """One process with threads to try."""

    def __init__(self, seed: int = 0) -> None:
        self.turns = Turns(Random(seed))
        self.process = Process("p")
        self.threads: Threads = TurnThreads(self.turns, self.process)
        self.clock = TurnClock(self.turns)
        self.told: list[object] = []

    def do(self, *works: Callable[[], None]) -> list[object]:
        tasks = [self.threads.spawn(work, name=work.__name__) for work in works]
        self.turns.run(lambda: not any(task.is_alive() for task in tasks))
        return self.told


def test_a_day_of_waiting_takes_no_time_and_moves_the_clock_by_a_day() -> None:
    world = World()
    before = world.clock.now()
    world.do(lambda: world.threads.sleep(DAY))
    assert world.clock.now() == before + DAY
    assert world.clock.steady() == DAY


def test_a_flag_is_waited_for_until_it_is_set_or_the_time_is_up() -> None:
    world = World()
    flag = world.threads.flag()

    def waits() -> None:
        world.told.append((flag.wait(1.0), world.clock.steady()))
        world.told.append((flag.wait(), world.clock.steady()))

    def sets() -> None:
        world.threads.sleep(3.0)
        flag.set()

    assert world.do(waits, sets) == [(False, 1.0), (True, 3.0)]


def test_who_was_woken_by_a_flag_goes_on_though_it_is_cleared_before_its_turn() -> None:
    world = World()
    flag = world.threads.flag()

    def waits() -> None:
        world.told.append(flag.wait(10.0))

    def sets() -> None:
        world.threads.sleep(1.0)
        flag.set()
        flag.clear()

    assert world.do(waits, sets) == [True]


def test_who_has_waited_for_a_flag_in_vain_is_not_woken_by_it_later() -> None:
    world = World()
    flag = world.threads.flag()

    def waits() -> None:
        flag.wait(1.0)
        world.threads.sleep(10.0)
        world.told.append(world.clock.steady())

    def sets() -> None:
        world.threads.sleep(2.0)
        flag.set()

    assert world.do(waits, sets) == [11.0]


def test_a_mailbox_hands_over_in_order_and_is_empty_after_its_time() -> None:
    world = World()
    mailbox = world.threads.mailbox()

    def takes() -> None:
        world.told.append(mailbox.get())
        world.told.append(mailbox.get(timeout=5.0))
        with pytest.raises(queue.Empty):
            mailbox.get(timeout=1.0)
        world.told.append(world.clock.steady())

    def puts() -> None:
        mailbox.put("a")
        world.threads.sleep(2.0)
        mailbox.put("b")

    assert world.do(takes, puts) == ["a", "b", 3.0]


def test_one_at_a_time_is_within_a_condition_and_waiting_gives_it_up() -> None:
    world = World()
    condition, inside = world.threads.condition(), [0]
    done: list[str] = []

    def works() -> None:
        with condition:
            inside[0] += 1
            assert inside == [1]
            world.threads.sleep(1.0)
            inside[0] -= 1
            done.append("works")
            condition.notify_all()

    def waits() -> None:
        with condition:
            assert condition.wait_for(lambda: len(done) == 2)
            assert not condition.wait_for(lambda: False, timeout=4.0)
            world.told.append(world.clock.steady())

    assert world.do(waits, works, works) == [6.0]


def test_a_task_is_joined_when_it_has_ended_and_what_it_raises_is_seen() -> None:
    world = World()

    def ends() -> None:
        world.threads.sleep(2.0)

    def joins() -> None:
        world.threads.spawn(ends, name="ends").join()
        world.told.append(world.clock.steady())

    assert world.do(joins) == [2.0]

    def raises() -> None:
        raise ValueError("seen")

    with pytest.raises(ValueError, match="seen"):
        world.do(raises)


def test_threads_of_a_process_that_has_ended_have_no_more_turns() -> None:
    world, other = World(), Process("other")

    def never() -> None:
        try:
            TurnThreads(world.turns, world.process).sleep(1.0)
        finally:
            world.told.append("cleaned up")

    def kills() -> None:
        world.process.is_alive = False

    world.threads.spawn(never, name="never")
    ends = TurnThreads(world.turns, other).spawn(kills, name="kills")
    world.turns.run(lambda: not ends.is_alive())
    with pytest.raises(StuckError):
        world.turns.run(lambda: False)
    assert world.told == []


def test_the_same_seed_gives_the_same_turns_and_others_others() -> None:
    def order(seed: int) -> list[object]:
        world = World(seed)
        return world.do(*[lambda number=number: world.told.append(number) for number in range(6)])

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(20)}) > 5


def test_those_who_wait_for_a_change_do_not_wake_each_other() -> None:
    world = World()
    change = world.threads.condition()
    done: list[float] = []

    def waits() -> None:
        with change:
            change.wait_for(lambda: bool(done))
            world.told.append(world.clock.steady())

    def changes() -> None:
        world.threads.sleep(DAY)
        with change:
            done.append(world.clock.steady())
            change.notify_all()

    tasks = [world.threads.spawn(work, name=work.__name__) for work in (waits, waits, changes)]
    turns = 0

    def are_over() -> bool:
        nonlocal turns
        turns += 1
        assert turns < 1_000, "somebody is woken all the time"
        return not any(task.is_alive() for task in tasks)

    world.turns.run(are_over)
    assert world.told == [DAY, DAY]
