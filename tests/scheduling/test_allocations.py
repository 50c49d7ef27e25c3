"""Which tracks tables get, with the worked example of Golab et al. 2011, section 3.2.4, and Bateni et al. 2009."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.scheduling import (
    EdfPartitioned,
    GlobalAllocation,
    GroupAndRun,
    Lane,
    Load,
    Partition,
    Proportional,
    tracks_of,
)

from .bench import PLAIN, Bench, arrival, starts, table

FOUR_JOBS = [
    Load(table="J1", period=4.0, execution=1.0),
    Load(table="J2", period=4.0, execution=1.0),
    Load(table="J3", period=8.0, execution=2.0),
    Load(table="J4", period=10.0, execution=1.25),
]
LOADS = st.lists(
    st.tuples(st.sampled_from([5.0, 60.0, 100.0, 10_000.0]), st.floats(0.001, 0.5)), min_size=1, max_size=12
).map(
    lambda drawn: [
        Load(table=f"t{number}", period=period, execution=share * period)
        for number, (period, share) in enumerate(drawn)
    ]
)


def lane_of(partition: Partition, name: str) -> Lane:
    return partition.lanes[partition.lane_of[name]]


def home(partition: Partition, name: str) -> list[int]:
    return tracks_of(lane_of(partition, name).home)


# EDF-Partitioned


def test_section_3_2_4_edf_partitioning_puts_j1_and_j2_together_and_j3_with_j4() -> None:
    partition = EdfPartitioned().partition(FOUR_JOBS, 2)
    assert {load.table: home(partition, load.table) for load in FOUR_JOBS} == {
        "J1": [0],
        "J2": [0],
        "J3": [1],
        "J4": [1],
    }
    assert partition.shortage is None


def test_section_3_2_4_only_j4_can_be_promoted() -> None:
    partition = EdfPartitioned().partition(FOUR_JOBS, 2)
    promotable = [load.table for load in FOUR_JOBS if lane_of(partition, load.table).promotable]
    assert promotable == ["J4"]
    assert tracks_of(lane_of(partition, "J4").promotable) == [0]


def test_tracks_that_are_nobodys_home_are_free_for_all() -> None:
    partition = EdfPartitioned().partition(FOUR_JOBS, 4)
    assert all(tracks_of(lane.free) == [2, 3] for lane in partition.lanes)


def test_too_few_tracks_for_edf_partitioning_are_told_with_the_number_that_would_do() -> None:
    shortage = EdfPartitioned().partition(FOUR_JOBS, 1).shortage
    assert shortage is not None
    assert shortage.tracks_needed == 2
    assert EdfPartitioned().partition(FOUR_JOBS, shortage.tracks_needed).shortage is None


def test_a_table_that_takes_more_than_half_its_period_fits_on_no_number_of_tracks() -> None:
    shortage = EdfPartitioned().partition([*FOUR_JOBS, Load(table="J5", period=10.0, execution=5.1)], 9).shortage
    assert shortage is not None
    assert shortage.tracks_needed is None
    assert "'J5'" in shortage.reason


def test_equal_tables_in_different_tracks_cannot_be_promoted() -> None:
    """The remark that opens section 3.2.3."""
    loads = [Load(table=f"t{number}", period=100.0, execution=13.0) for number in range(30)]
    partition = EdfPartitioned().partition(loads, 5)
    assert partition.shortage is None
    assert not any(lane.promotable or lane.free for lane in partition.lanes)


@given(LOADS)
def test_on_every_home_track_edf_would_meet_all_deadlines(loads: list[Load]) -> None:
    partition = EdfPartitioned().partition(loads, len(loads))
    if partition.shortage is not None:
        assert any(2 * load.execution > load.period for load in loads)
        return
    for track in range(len(loads)):
        own = [load for load in loads if home(partition, load.table) == [track]]
        if own:
            blocking = max(load.execution for load in own) / min(load.period for load in own)
            assert sum(load.execution / load.period for load in own) <= 1.0 - blocking + 1e-6


# Proportional


def names(clusters: list[list[Load]]) -> list[set[str]]:
    return [{load.table for load in cluster} for cluster in clusters]


@pytest.mark.parametrize("allocation", [Proportional(k=2.0, measure="period"), Proportional(k=0.3)])
def test_section_3_2_4_proportional_clusters(allocation: Proportional) -> None:
    assert names(allocation.clusters(FOUR_JOBS)) == [{"J1", "J2"}, {"J3", "J4"}]


def test_section_3_2_4_proportional_gives_the_short_ones_both_tracks_and_the_long_ones_the_first() -> None:
    partition = Proportional(k=0.3).partition(FOUR_JOBS, 2)
    short, long = lane_of(partition, "J1"), lane_of(partition, "J3")
    assert (tracks_of(short.own), tracks_of(short.shared)) == ([1], [0])
    assert tracks_of(long.home) == [0]
    assert not short.promotable
    assert not long.promotable


def test_with_k_1_and_execution_times_the_four_jobs_are_alike() -> None:
    assert names(Proportional().clusters(FOUR_JOBS)) == [{"J1", "J2", "J3", "J4"}]


def test_the_basic_choice_leaves_tracks_free_and_all_leaves_none() -> None:
    basic, everything = Proportional(tracks="basic"), Proportional(tracks="all")
    assert all(tracks_of(lane.free) == [1, 2, 3] for lane in basic.partition(FOUR_JOBS, 4).lanes)
    assert not any(lane.free for lane in everything.partition(FOUR_JOBS, 4).lanes)


def test_short_updates_are_promoted_to_the_tracks_of_long_ones_and_never_the_other_way() -> None:
    loads = [
        *(Load(table=f"short{n}", period=100.0, execution=11.0) for n in range(15)),
        *(Load(table=f"long{n}", period=10_000.0, execution=1_001.0) for n in range(15)),
    ]
    partition = Proportional().partition(loads, 4)
    short, long = lane_of(partition, "short0"), lane_of(partition, "long0")
    assert tracks_of(long.home) == [0, 1]
    assert tracks_of(short.own) == [2, 3]
    assert tracks_of(short.shared) == [1]
    assert tracks_of(short.promotable) == [0]
    assert not long.promotable


def test_more_load_than_tracks_still_gives_every_cluster_its_share() -> None:
    loads = [Load(table=f"t{n}", period=10.0, execution=9.0) for n in range(5)]
    for choice in (Proportional(tracks="all"), Proportional(tracks="basic")):
        partition = choice.partition(loads, 2)
        assert tracks_of(lane_of(partition, "t0").home) == [0, 1]


@given(LOADS, st.integers(1, 6), st.sampled_from(["all", "basic"]), st.sampled_from([0.1, 1.0, 10.0]))
def test_every_table_has_a_home_and_every_track_is_some_cluster_s_home_or_free(
    loads: list[Load], tracks: int, choice: str, k: float
) -> None:
    partition = Proportional(tracks="all" if choice == "all" else "basic", k=k).partition(loads, tracks)
    assert set(partition.lane_of) == {load.table for load in loads}
    assert all(tracks_of(lane.home) for lane in partition.lanes)
    assert all(max(tracks_of(lane.home)) < tracks for lane in partition.lanes)
    used = 0
    for lane in partition.lanes:
        used |= lane.home | lane.free
    assert tracks_of(used) == list(range(tracks))


# Group and run


def with_periods(*periods: float) -> list[Load]:
    return [Load(table=f"t{number}", period=period, execution=0.01) for number, period in enumerate(periods)]


def test_tables_whose_periods_lie_within_a_factor_of_two_are_a_group() -> None:
    loads = with_periods(60.0, 3600.0, 100.0, 120.0, 7201.0, 61.0, 3600.0)
    assert names(GroupAndRun().groups(loads)) == [{"t0", "t2", "t3", "t5"}, {"t1", "t6"}, {"t4"}]


def test_section_4_of_bateni_a_group_of_n_tables_gets_its_part_of_the_tracks_that_are_left_after_one_for_each() -> None:
    partition = GroupAndRun().partition(with_periods(*[60.0] * 6, *[3600.0] * 3, 86_400.0), 9)
    # (9 - 3) * n / 10 is 3.6, 1.8 and 0.6.
    assert [len(tracks_of(lane.own)) for lane in partition.lanes] == [4, 2, 1]
    assert partition.shortage is None


def test_too_few_tracks_for_the_groups_are_told_with_the_numbers_and_what_would_do() -> None:
    loads = with_periods(60.0, 100.0, 3600.0)
    shortage = GroupAndRun().partition(loads, 3).shortage
    assert shortage is not None
    assert shortage.tracks_needed == 4
    assert "2 groups of similar periods (60s to 100s, 3600s)" in shortage.reason
    assert "there are 3" in shortage.reason
    assert GroupAndRun().partition(loads, 4).shortage is None


def test_with_fewer_tracks_than_groups_the_most_similar_ones_are_put_together() -> None:
    partition = GroupAndRun().partition(with_periods(1.0, 1000.0, 3000.0), 2)
    assert [home(partition, f"t{number}") for number in range(3)] == [[0], [1], [1]]


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=12), st.integers(1, 30))
def test_groups_never_meet_and_are_as_few_as_possible(periods: list[float], tracks: int) -> None:
    loads = with_periods(*periods)
    partition = GroupAndRun().partition(loads, tracks)
    homes = [tracks_of(lane.own) for lane in partition.lanes]
    together = [track for home in homes for track in home]
    assert all(homes)
    assert len(together) == len(set(together)), "no track belongs to two groups"
    assert set(together) <= set(range(tracks))
    assert not any(lane.shared or lane.free or lane.promotable for lane in partition.lanes)
    groups = GroupAndRun().groups(loads)
    for group in groups:
        assert max(load.period for load in group) <= 2.000001 * min(load.period for load in group)
    firsts = [group[0].period for group in groups]
    apart = all(second > 2.0 * first for first, second in itertools.pairwise(firsts))
    assert apart, "no two of these periods fit into one group, so there are no fewer groups"
    assert (partition.shortage is None) == (tracks >= 2 * len(groups))


def test_an_update_stays_on_the_tracks_of_its_group_though_others_are_idle() -> None:
    bench = Bench(
        *(table(name, alpha=1.0, period=60.0, freshness=0.0, safe=0.0) for name in ("s1", "s2", "s3")),
        table("l1", alpha=1.0, period=3600.0, freshness=0.0, safe=0.0),
        tracks=4,
        policy=replace(PLAIN, allocation=GroupAndRun()),
    )
    assert bench.happens(*(arrival(name, 1.0) for name in ("s1", "s2", "s3")))
    assert sorted(bench.running) == ["s1", "s2"]
    assert bench.arrives("l1", 1.0) == ["l1"]
    assert bench.finishes("l1") == []
    assert bench.finishes("s1") == ["s3"]


# Who runs where


def two_classes(**changes: object) -> Bench:
    """Two short tables at home on track 1 (and 0), one long one at home on track 0."""
    allocation = replace(Proportional(k=0.3), **changes)  # type: ignore[arg-type]
    return Bench(
        table("J1", alpha=1.0, period=4.0, freshness=0.0, safe=0.0),
        table("J2", alpha=1.0, period=4.0, freshness=0.0, safe=0.0),
        table("J3", alpha=2.0, period=8.0, freshness=0.0, safe=0.0),
        table("J4", alpha=1.25, period=10.0, freshness=0.0, safe=0.0),
        tracks=2,
        policy=replace(PLAIN, allocation=allocation),
    )


def test_an_update_takes_its_own_track_before_the_shared_one() -> None:
    bench = two_classes()
    bench.arrives("J1", 4.0)
    bench.arrives("J2", 4.0)
    assert {name: update.track for name, update in bench.running.items()} == {"J1": 1, "J2": 0}
    placed = [update.decision.placed for update in bench.running.values() if update.decision is not None]
    assert placed == ["home", "shared"]


def test_a_long_update_waits_for_its_home_though_another_track_is_idle() -> None:
    bench = two_classes()
    bench.arrives("J3", 8.0)
    assert bench.arrives("J4", 10.0) == []
    assert bench.scheduler.look("J4").waits == "home track 0 ('J3') is busy; not promotable to track 1, which is idle"
    assert bench.finishes("J3") == ["J4"]


def three_tracks(*, aggressive: bool) -> Bench:
    """Long tables are at home on tracks 1 and 0, short ones on 2, from where they can be promoted."""
    allocation = Proportional(aggressive=aggressive)
    return Bench(
        *(table(f"long{n}", alpha=100.0, period=400.0, freshness=0.0, safe=0.0) for n in range(6)),
        *(table(f"short{n}", alpha=1.0, period=8.0, freshness=0.0, safe=0.0) for n in range(6)),
        tracks=3,
        policy=replace(PLAIN, allocation=allocation),
    )


def test_an_aggressive_promotion_takes_an_idle_track_that_its_own_updates_wait_for() -> None:
    bench = three_tracks(aggressive=True)
    events = [arrival(f"short{n}", 8.0) for n in range(4)] + [arrival("long0", 1.0)]
    started = {start.table: start.track for start in starts(bench.happens(*events))}
    assert sorted(started.values()) == [0, 1, 2]
    assert set(started) == {"short0", "short1", "short2"}


def test_a_promotion_that_is_not_aggressive_leaves_the_track_to_its_own_updates() -> None:
    bench = three_tracks(aggressive=False)
    events = [arrival(f"short{n}", 8.0) for n in range(4)] + [arrival("long0", 1.0)]
    started = {start.table: start.track for start in starts(bench.happens(*events))}
    assert started == {"short0": 2, "short1": 0, "long0": 1}


def test_a_promotion_that_is_not_aggressive_takes_a_track_that_nobody_waits_for() -> None:
    bench = three_tracks(aggressive=False)
    started = {s.table: s.track for s in starts(bench.happens(*(arrival(f"short{n}", 8.0) for n in range(4))))}
    assert started == {"short0": 2, "short1": 0, "short2": 1}


# Sharing out anew


def test_tables_are_shared_out_anew_when_a_cost_has_moved_by_more_than_the_factor() -> None:
    bench = Bench(
        table("a", alpha=1.0, period=10.0, freshness=0.0, safe=0.0),
        table("b", alpha=1.0, period=10.0, freshness=0.0, safe=0.0),
        tracks=2,
        policy=replace(PLAIN, allocation=Proportional(), repartition=1.5),
    )
    assert len(bench.scheduler.partition.lanes) == 1
    bench.arrives("a", 1.0)
    bench.finishes("a", seconds=1.4)
    assert len(bench.scheduler.partition.lanes) == 1, "not moved enough"
    for stamp in (2.0, 3.0, 4.0, 5.0):
        bench.arrives("a", stamp)
        bench.finishes("a", seconds=40.0)
    assert len(bench.scheduler.partition.lanes) == 2, "an update of a takes longer than a period of b"


def test_a_paused_table_leaves_its_share_to_the_others_and_gets_one_back() -> None:
    bench = Bench(
        table("slow", alpha=30.0, period=100.0, freshness=0.0, safe=0.0),
        table("fast", alpha=1.0, period=10.0, freshness=0.0, safe=0.0),
        tracks=2,
        policy=replace(PLAIN, allocation=Proportional()),
    )
    assert len(bench.scheduler.partition.lanes) == 2
    bench.pauses("slow")
    assert [tracks_of(lane.home) for lane in bench.scheduler.partition.lanes] == [[0, 1]]
    bench.resumes("slow")
    assert len(bench.scheduler.partition.lanes) == 2


def test_what_waits_keeps_waiting_when_tables_are_shared_out_anew() -> None:
    bench = Bench(
        *(table(name, alpha=1.0, period=10.0, freshness=0.0, safe=0.0) for name in "abc"),
        policy=replace(PLAIN, allocation=Proportional()),
    )
    bench.happens(*(arrival(name, 1.0) for name in "abc"))
    assert bench.started() == ["a"]
    bench.pauses("c")
    assert bench.finishes("a") == ["b"]
    assert bench.finishes("b") == []
    assert bench.resumes("c") == ["c"]


def test_global_allocation_is_one_lane() -> None:
    partition = GlobalAllocation().partition(FOUR_JOBS, 3)
    assert [tracks_of(lane.home) for lane in partition.lanes] == [[0, 1, 2]]
