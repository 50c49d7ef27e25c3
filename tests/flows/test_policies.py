"""What each policy prefers (Karagiannis et al. 2013, table 1 and sections 4.1 to 4.3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from freshtide.flows import POLICIES, FlowPolicy, Standing
from freshtide.flows.policies import MinimumCost, MinimumMemory, RoundRobin


def standing(place: int, *, queued: int = 1, taken: int = 0, given: int = 0, seconds: float = 0.0) -> Standing:
    return Standing(place=place, queued=queued, taken=taken, given=given, seconds=seconds)


STANDINGS = st.lists(
    st.builds(
        standing,
        st.just(0),
        queued=st.integers(0, 50),
        taken=st.integers(0, 50),
        given=st.integers(0, 50),
        seconds=st.floats(0.0, 10.0),
    ),
    min_size=1,
    max_size=6,
).map(
    lambda found: [
        standing(place, queued=each.queued, taken=each.taken, given=each.given, seconds=each.seconds)
        for place, each in enumerate(found)
    ]
)


def test_only_minimum_memory_reschedules_after_a_slot() -> None:
    assert RoundRobin().slot is None
    assert MinimumCost().slot is None
    assert MinimumMemory(slot=0.07).slot == 0.07


def test_round_robin_takes_turns_in_the_order_of_the_declaration() -> None:
    policy, all_of_them = RoundRobin(), [standing(place) for place in (0, 2, 5)]
    assert [policy.choose(all_of_them).place for _ in range(5)] == [0, 2, 5, 0, 2]


def test_round_robin_passes_over_who_cannot_run_and_comes_back_to_them() -> None:
    policy = RoundRobin()
    assert policy.choose([standing(0), standing(1)]).place == 0
    assert policy.choose([standing(0), standing(2)]).place == 2
    assert policy.choose([standing(0), standing(1)]).place == 0
    assert policy.choose([standing(0), standing(1)]).place == 1


@given(STANDINGS)
def test_minimum_cost_takes_the_largest_queue_and_of_equal_ones_the_first(standings: list[Standing]) -> None:
    chosen = MinimumCost().choose(standings)
    assert all(each.queued < chosen.queued for each in standings[: chosen.place])
    assert all(each.queued <= chosen.queued for each in standings)


def test_minimum_memory_weighs_the_rate_of_consumption_with_what_waits() -> None:
    # ((In - Out) / ExecTime) * Queue: 10 rows a second times 3, against 4 rows a second times 10.
    fast = standing(0, queued=3, taken=30, given=10, seconds=2.0)
    loaded = standing(1, queued=10, taken=30, given=10, seconds=5.0)
    assert MinimumMemory().choose([fast, loaded]) is loaded
    assert MinimumMemory().choose([fast, standing(1, queued=7, taken=30, given=10, seconds=5.0)]) is fast


def test_minimum_memory_takes_the_largest_queue_before_anything_has_run() -> None:
    standings = [standing(0, queued=3), standing(1, queued=8), standing(2, queued=8)]
    assert MinimumMemory().choose(standings).place == 1


def test_minimum_memory_takes_the_largest_queue_where_nobody_frees_memory() -> None:
    growing = standing(0, queued=2, taken=5, given=15, seconds=1.0)
    passing = standing(1, queued=9, taken=5, given=5, seconds=1.0)
    assert MinimumMemory().choose([growing, passing]) is passing
    assert MinimumMemory().choose([growing, standing(1, queued=1)]) is growing


@given(st.sampled_from(sorted(POLICIES)), st.lists(STANDINGS, min_size=1, max_size=5))
def test_a_policy_chooses_among_those_that_could_run(name: str, rounds: list[list[Standing]]) -> None:
    policy: FlowPolicy = POLICIES[name]()
    for standings in rounds:
        assert policy.choose(standings) in standings


def test_minimum_memory_brings_rows_into_memory_only_when_nothing_waits_there() -> None:
    source = Standing(place=0, queued=1_000, taken=5, given=5, seconds=1.0, from_disk=True)
    passing = standing(1, queued=2, taken=5, given=5, seconds=1.0)
    assert MinimumMemory().choose([source, passing]) is passing
    assert MinimumMemory().choose([source]) is source
    assert MinimumCost().choose([source, passing]) is source
