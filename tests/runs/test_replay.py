"""A trace, replayed through a fresh scheduler, gives the same commands; a trace that lies is found out."""

from __future__ import annotations

import json
import math
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.commands import StartUpdate, WakeAt
from freshtide.core.costs import CostModel, GivenCost
from freshtide.core.events import (
    DataArrived,
    Event,
    RebuildCancelled,
    RebuildRequested,
    SurroundingsFailed,
    SurroundingsMended,
    TablePaused,
    TableResumed,
    TimerFired,
    UpdateFailed,
    UpdateFinished,
)
from freshtide.runs import TraceError, reconfigure, replay_trace, scheduler_from
from freshtide.runs.replay import last_beginning
from freshtide.runtime.trace import TraceWriter
from freshtide.scheduling import (
    TARGET_LAGS,
    Adaptive,
    Beginning,
    Policy,
    Reconfiguration,
    RetryPolicy,
    ScheduledTable,
    adaptive_policy,
)
from tests.examples import examples
from tests.scheduling.test_scheduler_properties import POLICIES, graphs


def whole_minutes(table: str, cut: float) -> float | None:
    """Views move from one minute to the next, as if they waited for buckets to close."""
    if table.startswith("b"):
        return cut
    return cut // 60.0 * 60.0 if cut >= 60.0 else None


def drive(
    path: Path,
    beginning: Beginning,
    seed: int,
    *,
    steps: int,
    reach: Callable[[str, float], float | None],
    changes: float = 0.0,
    **how: Any,
) -> int:
    """A run in which everything happens at random; the number of updates it started.

    `changes` is how often it goes on with other tables, tracks and rules.
    """
    rng = random.Random(seed)
    trace = TraceWriter(path, beginning, **how)
    scheduler = scheduler_from(beginning, trace.recording(reach))
    running: dict[int, StartUpdate] = {}
    timers: list[float] = []
    started, now = 0, 100.0
    names = [table.name for table in beginning.tables]
    bases = [table.name for table in beginning.tables if not table.sources]
    for _ in range(steps):
        now += rng.expovariate(0.5)
        events: list[Event] = [TimerFired() for timer in timers if timer <= now]
        timers = [timer for timer in timers if timer > now]
        for track in [track for track in running if rng.random() < 0.4]:
            update = running.pop(track)
            if rng.random() < 0.25:
                blameless = rng.random() < 0.5
                events.append(UpdateFailed(update.table, track, "disk full", blameless, hopeless=rng.random() < 0.02))
            else:
                # Late data takes a table nowhere that it has not been.
                reached = max(update.upto, scheduler.look(update.table).freshness or update.upto)
                done = UpdateFinished(update.table, track, reached, reached, rng.expovariate(1.0))
                events.append(replace(done, revised=update.rebuild))
        for _ in range(rng.randrange(3)):
            arrival = DataArrived(table=rng.choice(bases), timestamp=math.floor(now - 5.0 * rng.random()))
            # Every third or so was noticed some time after it had arrived.
            events.append(replace(arrival, at=now - 0.1 * arrival.timestamp % 3.0) if started % 3 == 0 else arrival)
        if rng.random() < 0.1:
            name = rng.choice(names)
            requests: list[Event] = [
                TablePaused(name),
                TableResumed(name),
                RebuildRequested(name),
                RebuildRequested(name, wished=True),
                RebuildCancelled(name),
            ]
            events.append(rng.choice(requests))
        if rng.random() < (0.7 if scheduler.held else 0.05):
            events.append(SurroundingsMended() if scheduler.held else SurroundingsFailed("the disk is full"))
        if rng.random() < changes:
            change = changed(beginning, rng)
            beginning = change.after
            names = [table.name for table in beginning.tables]
            bases = [table.name for table in beginning.tables if not table.sources]
            reconfigure(scheduler, change, trace.recording(reach))
            scheduler.check()
            trace.note_change(now, change)
            ends = (UpdateFinished, UpdateFailed)
            events = [
                event for event in events if isinstance(event, ends) or getattr(event, "table", names[0]) in names
            ]
        commands = scheduler.handle(events, now)
        scheduler.check()
        trace.write(now, events, commands)
        for command in commands:
            if isinstance(command, StartUpdate):
                running[command.track] = command
                started += 1
            elif isinstance(command, WakeAt):
                timers.append(command.time)
    trace.close()
    return started


def changed(before: Beginning, rng: random.Random) -> Reconfiguration:
    """Somebody has changed priorities and tracks, taken out the last view or put in another."""
    tables = [replace(table, priority=rng.choice([0.5, 1.0, 10.0])) for table in before.tables]
    if tables[-1].sources and rng.random() < 0.5:
        del tables[-1]
    elif rng.random() < 0.5:
        source = rng.choice(tables).name
        tables.append(ScheduledTable(name=f"v{rng.randrange(100, 10**9)}", sources=(source,), period=7.0))
    redefined = [table.name for table in tables if table.sources and rng.random() < 0.2]
    policy = replace(before.policy, seed=rng.randrange(3))
    after = replace(before, tables=tuple(tables), tracks=rng.randint(1, 3), policy=policy)
    return Reconfiguration(after=after, redefined=tuple(redefined))


def two_tables(**policy: Any) -> Beginning:
    return Beginning(
        tables=(
            ScheduledTable(name="b0", period=5.0, cost=CostModel(weight=1.0, sum_n=5.0, sum_e=0.25), freshness=90.0),
            ScheduledTable(name="b1", period=5.0, cost=GivenCost(0.5, 0.01), priority=3.0),
            ScheduledTable(name="v0", sources=("b0", "b1"), period=5.0, revised_sources=True, safe=80.0),
        ),
        tracks=1,
        policy=Policy(**policy),
        retry=RetryPolicy(attempts=3, backoff=0.5),
    )


@settings(max_examples=examples(80))
@given(
    tables=graphs(),
    tracks=st.integers(1, 3),
    policy=POLICIES,
    seed=st.integers(0, 1_000),
    in_steps=st.booleans(),
)
def test_every_run_under_every_policy_replays_to_the_same_commands(
    tables: tuple[ScheduledTable, ...], tracks: int, policy: Policy, seed: int, in_steps: bool
) -> None:
    beginning = Beginning(
        tables=tables, tracks=tracks, policy=replace(policy, seed=seed), retry=RetryPolicy(attempts=2, backoff=1.0)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        drive(path, beginning, seed, steps=60, reach=whole_minutes if in_steps else lambda _, cut: cut)
        found = replay_trace(path)
    assert found.difference is None
    assert (found.runs, found.decisions, found.skipped) == (1, 60, 0)


ADAPTIVE = st.builds(
    Adaptive,
    recovery=st.sampled_from(["fastest", "together", 2.0]),
    recovery_of=st.sampled_from([{}, {"b0": 1.5}]),
    threshold=st.sampled_from([None, 7.0]),
    threshold_of=st.sampled_from([{}, {"b0": 3.0}]),
    arbitration=st.sampled_from(["share", "priority"]),
    costs=st.sampled_from(["average", "worst"]),
)


@settings(max_examples=examples(40))
@given(tables=graphs(), tracks=st.integers(1, 3), adaptive=ADAPTIVE, seed=st.integers(0, 1_000))
def test_reservations_and_modes_replay_to_the_same_commands(
    tables: tuple[ScheduledTable, ...], tracks: int, adaptive: Adaptive, seed: int
) -> None:
    jittered = tuple(
        replace(table, phase=1.0, arrival_jitter=0.5, timestamp_jitter=0.25, held_back=2.0) for table in tables
    )
    policy = replace(adaptive_policy(adaptive), seed=seed)
    beginning = Beginning(tables=jittered, tracks=tracks, policy=policy, retry=RetryPolicy(attempts=2, backoff=1.0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        drive(path, beginning, seed, steps=60, reach=whole_minutes)
        found, begun = replay_trace(path), last_beginning(path)
    assert (found.difference, found.decisions) == (None, 60)
    assert begun == beginning


@settings(max_examples=examples(40))
@given(
    tables=graphs(), tracks=st.integers(1, 3), policy=POLICIES | ADAPTIVE.map(adaptive_policy), seed=st.integers(0, 99)
)
def test_update_streams_replay_to_the_same_commands(
    tables: tuple[ScheduledTable, ...], tracks: int, policy: Policy, seed: int
) -> None:
    fed = {"b0"}
    for table in tables:
        fed |= {table.name} if fed.intersection(table.sources) else set()
    streams = tuple(replace(table, update_stream=table.name in fed) for table in tables)
    beginning = Beginning(tables=streams, tracks=tracks, policy=replace(policy, seed=seed), retry=RetryPolicy())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        drive(path, beginning, seed, steps=60, reach=lambda _, cut: cut)
        found, begun = replay_trace(path), last_beginning(path)
    assert (found.difference, found.decisions) == (None, 60)
    assert begun == beginning


@settings(max_examples=60)
@given(tables=graphs(), policy=POLICIES, seed=st.integers(0, 1_000), adaptive=st.booleans())
def test_a_run_that_goes_on_with_other_tables_replays_to_the_same_commands(
    tables: tuple[ScheduledTable, ...], policy: Policy, seed: int, adaptive: bool
) -> None:
    policy = adaptive_policy() if adaptive else policy
    beginning = Beginning(tables=tables, tracks=2, policy=policy, retry=RetryPolicy(attempts=2, backoff=1.0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        drive(path, beginning, seed, steps=80, reach=whole_minutes, changes=0.3)
        found, last = replay_trace(path), last_beginning(path)
        assert (found.decisions, found.difference) == (80, None)
        written = [json.loads(line) for line in path.read_text().splitlines() if line.startswith('{"changes"')]
        assert last is not None
        assert (last.tracks, len(last.tables)) == (
            written[-1]["changes"]["tracks"],
            len(written[-1]["changes"]["tables"]),
        )


def test_the_last_beginning_of_a_file_is_the_one_that_counts(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    for seed in range(3):
        drive(path, two_tables(seed=seed), seed, steps=5, reach=whole_minutes)
    begun = last_beginning(path)
    assert begun is not None
    assert begun.policy.seed == 2
    assert last_beginning(tmp_path / "other.jsonl") is None


def test_a_trace_holds_one_run_after_another(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    for seed in range(3):
        assert drive(path, two_tables(seed=seed), seed, steps=40, reach=whole_minutes) > 5
    found = replay_trace(path)
    assert (found.runs, found.decisions, found.difference) == (3, 120, None)


def test_a_decision_that_was_tampered_with_is_found_with_its_line_and_both_commands(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    drive(path, two_tables(), 1, steps=20, reach=whole_minutes)
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if '"StartUpdate"' in line and number > 5)
    said = json.loads(lines[at])
    said["commands"][-1]["decision"]["benefit"] += 1.0
    lines[at] = json.dumps(said)
    path.write_text("\n".join(lines) + "\n")
    difference = replay_trace(path).difference
    assert difference is not None, "the reasons count, not only what was started"
    assert (difference.file, difference.line) == (str(path), at + 1)
    assert difference.recorded[-1]["decision"]["benefit"] == difference.replayed[-1]["decision"]["benefit"] + 1.0


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("nonsense", "Expecting value"),
        ("[1, 2]", "keys and values are expected"),
        ('{"now": 1.0}', "'events' is missing or unknown"),
        ('{"now": 1.0, "events": [{"type": "Party"}], "commands": []}', "'Party' is missing or unknown"),
        ('{"now": 1.0, "events": [{"type": "DataArrived", "size": 1}], "commands": []}', "unexpected keyword"),
    ],
)
def test_a_line_that_is_none_of_a_trace_is_named(tmp_path: Path, wrong: str, reason: str) -> None:
    path = tmp_path / "trace.jsonl"
    drive(path, two_tables(), 1, steps=3, reach=whole_minutes)
    with path.open("a") as file:
        file.write(wrong + "\n")
    with pytest.raises(TraceError) as caught:
        replay_trace(path)
    assert caught.value.message.startswith(f"{path}:5: ")
    assert reason in caught.value.message


def test_events_that_cannot_follow_are_an_error_and_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    drive(path, two_tables(), 1, steps=1, reach=whole_minutes)
    with path.open("a") as file:
        file.write(
            '{"now": 200.0, "events": [{"type": "DataArrived", "table": "x", "timestamp": 1.0}], "commands": []}\n'
        )
    with pytest.raises(TraceError, match=r"trace\.jsonl:3: the events do not follow"):
        replay_trace(path)


def test_a_file_that_is_not_there_says_who_writes_it(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="`freshtide run` writes one"):
        replay_trace(tmp_path / "trace.jsonl")


def test_a_run_that_was_killed_while_it_wrote_leaves_a_trace_that_replays(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    drive(path, two_tables(), 1, steps=10, reach=whole_minutes)
    with path.open("a") as file:
        file.write('{"now": 130.0, "eve')
    assert replay_trace(path).decisions == 10, "the last line is not there yet"
    drive(path, two_tables(), 2, steps=5, reach=whole_minutes)
    found = replay_trace(path)
    assert (found.runs, found.decisions, found.difference) == (2, 15, None)


def test_a_long_run_goes_on_in_a_file_that_names_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    drive(path, two_tables(), 1, steps=60, reach=whole_minutes, largest=4_000, kept=100)
    aside = sorted(tmp_path.glob("trace.*.jsonl"))
    assert len(aside) > 2
    found = replay_trace(path)
    assert (found.runs, found.decisions, found.difference) == (1, 60, None)


def test_a_run_whose_beginning_is_no_longer_kept_cannot_be_replayed_but_the_next_one_can(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    drive(path, two_tables(), 1, steps=60, reach=whole_minutes, largest=4_000, kept=2)
    assert len(list(tmp_path.glob("trace.*.jsonl"))) == 2
    with pytest.raises(TraceError, match="no beginning of a run"):
        replay_trace(path)
    drive(path, two_tables(), 2, steps=5, reach=whole_minutes)
    found = replay_trace(path)
    assert (found.runs, found.decisions, found.difference) == (1, 5, None)
    assert 0 < found.skipped < 60


def test_a_trace_that_continues_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"continues": "trace.jsonl"}\n')
    with pytest.raises(TraceError, match="no beginning of a run"):
        replay_trace(path)


def test_a_trace_of_an_earlier_version_replays_without_what_it_did_not_say(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    beginning = replace(two_tables(), policy=TARGET_LAGS)
    drive(path, beginning, 1, steps=40, reach=whole_minutes)
    assert '"within":' in path.read_text()
    said = [json.loads(line) for line in path.read_text().splitlines()]
    commands = [command for line in said for command in line.get("commands", ()) if command["type"] == "StartUpdate"]
    assert any(command["within"] for command in commands)
    commands[3]["within"] = 0.125
    path.write_text("".join(json.dumps(line) + "\n" for line in said))
    assert replay_trace(path).difference is not None, "where it is said, it counts"
    for command in commands:
        del command["within"]
    for line in said:
        for table in line.get("begins", {}).get("tables", ()):
            del table["computes_whole"]
    path.write_text("".join(json.dumps(line) + "\n" for line in said))
    assert replay_trace(path).difference is None
