"""`freshtide simulate SCENARIO`: the worked examples of Golab et al. 2011, and everything a scenario can say."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.commands import answer, freshtide

from .scenarios import Terminal, area, staleness_at

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "scenarios").glob("*.yml"))

FIGURE_2 = """
horizon: 12
scheduler: {ordering: fifo, allocation: global}
tables:
  t: {arrivals: [[4, 3], [7, 7], [9, 9]], period: 3}
  # Keeps the only track busy until the second and the third batch are both there.
  other: {arrivals: [[6, 6]], period: 6, alpha: 4}
"""


def test_figure_2_staleness_drops_to_what_the_batches_leave(terminal: Terminal) -> None:
    result, trace = terminal.traced(FIGURE_2)
    loads = [update for update in trace if update["table"] == "t"]
    assert [(u["start"], u["end"], u["from"], u["upto"]) for u in loads] == [(4, 5, 0, 3), (10, 11, 3, 9)]
    assert staleness_at(trace, "t", 5) == 2
    assert staleness_at(trace, "t", 11) == 2
    # 12.5 up to 5, then from 2 to 8 within 6, then from 2 to 3.
    assert result["tables"]["t"]["mean"] == pytest.approx((12.5 + 30 + 2.5) / 12)
    assert result["tables"]["t"]["max"] == 8
    assert result["tables"]["t"]["final"] == 3
    assert result["tables"]["t"]["updates"] == 2


def test_figure_2_has_its_stretch_and_the_bounds_on_its_staleness(terminal: Terminal) -> None:
    told = terminal.simulate(FIGURE_2, "--json").json
    assert told["tables"]["t"]["stretch"] == max(5 / 3, (11 - 3) / 4, (11 - 7) / 2)
    assert told["tables"]["other"]["stretch"] == 10 / 6
    assert told["stretch"] == 2
    assert told["low"] == 3**2 + 4**2 + 2**2 + 6**2
    assert told["penalty"] == 5**2 + 8**2 + 10**2
    total = sum(table["mean"] * 12 for table in told["tables"].values())
    assert told["staleness_over_half_low"] == pytest.approx(2 * total / told["low"])


def test_a_table_without_data_has_no_stretch(terminal: Terminal) -> None:
    scenario = "horizon: 9\ntables: {t: {period: 10}}\n"
    told = terminal.simulate(scenario, "--json").json
    assert (told["stretch"], told["tables"]["t"]["stretch"], told["staleness_over_half_low"]) == (None, None, None)
    assert "Largest stretch –" in terminal.simulate(scenario).out


J1 = "arrivals: [[10, 10]], period: 10, alpha: 3"
J2 = "arrivals: [[5, 5], [10, 10]], period: 5, alpha: 2"


@pytest.mark.parametrize(
    ("ordering", "tables", "cost", "first"),
    [
        ("max-benefit", f"{{one: {{{J1}}}, two: {{{J2}}}}}", 80.0, "one"),
        ("max-benefit", f"{{two: {{{J2}}}, one: {{{J1}}}}}", 80.0, "one"),
        ("fifo", f"{{two: {{{J2}}}, one: {{{J1}}}}}", 85.0, "two"),
    ],
)
def test_section_3_1_the_job_with_the_higher_benefit_goes_first(
    terminal: Terminal, ordering: str, tables: str, cost: float, first: str
) -> None:
    _, trace = terminal.traced(f"horizon: 15\nscheduler: {{ordering: {ordering}}}\ntables: {tables}\n")
    assert [update["table"] for update in trace if update["start"] == 10] == [first]
    assert area(trace, "one", 10, 15) + area(trace, "two", 10, 15) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("ordering", "order"), [("lookahead", ["two", "three", "one"]), ("max-benefit", ["one", "three", "two"])]
)
def test_section_3_1_lookahead_fills_the_time_until_a_better_job_is_released(
    terminal: Terminal, ordering: str, order: list[str]
) -> None:
    """J3 is released one second after the other two: J2 before it gives 505 / 5 = 101, J1 alone 10 / 3."""
    scenario = f"""
horizon: 60
scheduler: {{ordering: {ordering}, inheritance: none, chopping: none}}
tables:
  one: {{arrivals: [[39, 39], [49, 49]], period: 10, alpha: 3}}
  two: {{arrivals: [[44, 44], [49, 49]], period: 5, alpha: 2}}
  three: {{period: 50, priority: 10, alpha: 3}}
"""
    _, trace = terminal.traced(scenario)
    assert [update["table"] for update in trace if update["start"] >= 49] == order


def test_section_3_2_4_four_jobs_need_two_tracks_for_an_edf_partition(terminal: Terminal) -> None:
    scenario: dict[str, Any] = {
        "horizon": 100,
        "scheduler": "edf-partitioned",
        "tables": {
            "j1": {"period": 4},
            "j2": {"period": 4},
            "j3": {"period": 8, "alpha": 2},
            "j4": {"period": 10, "alpha": 1.25},
        },
    }
    told = terminal.simulate(scenario)
    assert told.code == 2
    assert "scenario.yml:2: edf-partitioned is not possible" in told.err
    assert "2 tracks would do" in told.err
    result, trace = terminal.traced(scenario | {"tracks": 2})
    homes = {table: {u["track"] for u in trace if u["table"] == table} for table in ("j1", "j2", "j3", "j4")}
    assert homes["j1"] == homes["j2"] == {0}
    assert homes["j3"] == {1}
    assert result["relative_lateness"] > 1.0


OUTAGE = {
    "horizon": 3000,
    "seed": 3,
    "variability": 0.5,
    "tables": {
        "a": {"period": 10, "alpha": 2, "beta": 0.3, "outages": [[500, 900]]},
        "b": {"period": 40, "alpha": 5, "beta": 0.1, "priority": 4},
        "v": {"sources": ["a", "b"], "alpha": 1, "beta": 0.1},
    },
}


@pytest.mark.parametrize(
    "scheduler", ["max-benefit", "fifo", "myopic", "prp", {"chopping": 1}, {"inheritance": "none"}]
)
def test_lateness_is_relative_to_the_same_yardstick_under_every_scheduler(terminal: Terminal, scheduler: Any) -> None:
    """Golab et al. 2011, section 4.1: what the experiments divide by, a track for every table under their defaults."""
    alone = OUTAGE | {"tracks": 3, "scheduler": {"ordering": "max-benefit", "allocation": "global", "chopping": 3}}
    lowest = terminal.simulate(alone, "--json").json["weighted_staleness"]
    told = terminal.simulate(OUTAGE | {"scheduler": scheduler}, "--json").json
    assert told["relative_lateness"] == pytest.approx(told["weighted_staleness"] / lowest, rel=1e-12)


def test_a_table_that_takes_more_than_half_of_its_period_fits_no_edf_partition(terminal: Terminal) -> None:
    told = terminal.simulate("horizon: 9\nscheduler: edf-partitioned\ntables: {slow: {period: 4, alpha: 3}}\n")
    assert told.code == 2
    assert "'slow' takes 3s of every 4s" in told.err
    assert "would do" not in told.err
    assert "global, proportional" in told.err


BUSY = """
tracks: 2
horizon: 2000
seed: 7
variability: 0.5
slowdown: {factor: 3, normal: 5m, slow: 100s}
scheduler: {ordering: max-benefit, allocation: global, inheritance: max, chopping: 3}
tables:
  a: {period: 10, phase: 3, jitter: 2, priority: 1, alpha: 1, beta: 0.1, target_lag: 1m}
  b: {period: 20, late: {share: 0.3, by: 30}, outages: [[500, 900]], alpha: 2, target_lag: 10}
  c: {sources: [a, b], priority: 10, alpha: 1, beta: 0.1}
  d: {sources: [c], priority: 2}
  e: {sources: [c], priority: 3}
groups:
  de: {tables: [d, e], alpha: 2}
"""


def test_one_seed_gives_one_trace(terminal: Terminal) -> None:
    first, second = terminal.traced(BUSY), terminal.traced(BUSY)
    assert first == second
    assert terminal.traced(BUSY.replace("seed: 7", "seed: 8"))[1] != first[1]
    assert first[0]["seed"] == 7


def test_weighted_staleness_is_the_sum_of_the_areas_in_the_trace(terminal: Terminal) -> None:
    result, trace = terminal.traced(BUSY)
    priorities = {"a": 1, "b": 1, "c": 10, "d": 2, "e": 3}
    expected = sum(weight * area(trace, table, 0, 2000) / 2000 for table, weight in priorities.items())
    assert result["weighted_staleness"] == pytest.approx(expected)
    assert set(result["tables"]) == set(priorities)
    assert len(result["utilisation"]) == 2


def test_a_group_is_one_update_with_the_tables_it_is_for(terminal: Terminal) -> None:
    result, trace = terminal.traced(BUSY)
    together = [update for update in trace if update["table"] == "de"]
    assert all(update["tables"] == ["d", "e"] for update in together)
    assert not any(update["table"] in {"d", "e"} for update in trace)
    assert result["tables"]["d"] == result["tables"]["e"]
    assert result["tables"]["d"]["updates"] == len(together) > 0


def test_a_group_costs_the_largest_start_and_all_the_rows_unless_it_says_otherwise(terminal: Terminal) -> None:
    scenario: dict[str, Any] = {
        "horizon": 30,
        "tables": {
            "s": {"period": 10, "alpha": 0},
            "x": {"sources": ["s"], "alpha": 1, "beta": 0.1},
            "y": {"sources": ["s"], "alpha": 2, "beta": 0.2},
            "z": {"sources": ["x"], "alpha": 0},
        },
        "groups": {"g": ["x", "y"]},
    }
    _, trace = terminal.traced(scenario)
    seconds = [u["end"] - u["start"] for u in trace if u["table"] == "g"]
    assert seconds == pytest.approx([2 + 0.3 * 10, 2 + 0.3 * 10])
    assert [u["start"] for u in trace if u["table"] == "z"] == [u["end"] for u in trace if u["table"] == "g"]
    scenario["groups"] = {"g": {"tables": ["x", "y"], "alpha": 1, "beta": 0}}
    _, trace = terminal.traced(scenario)
    assert [u["end"] - u["start"] for u in trace if u["table"] == "g"] == [1.0, 1.0]


def test_streams_with_the_same_arrivals_can_be_a_group(terminal: Terminal) -> None:
    tables = {"x": {"period": 10, "alpha": 2}, "y": {"period": 10, "alpha": 3}}
    _, trace = terminal.traced({"horizon": 25, "tables": tables, "groups": {"g": ["x", "y"]}})
    assert [(u["table"], u["start"], u["end"]) for u in trace] == [("g", 10, 13), ("g", 20, 23)]


def test_an_outage_holds_everything_up_until_it_ends(terminal: Terminal) -> None:
    table = {"period": 10, "alpha": 1, "outages": [[25, 55], [55, 58]]}
    _, trace = terminal.traced({"horizon": 80, "scheduler": {"chopping": "none"}, "tables": {"t": table}})
    assert [(u["start"], u["upto"]) for u in trace] == [(10, 10), (20, 20), (58, 50), (60, 60), (70, 70)]


def test_jitter_delays_files_and_leaves_their_time_stamps(terminal: Terminal) -> None:
    table = {"period": 100, "phase": 50, "jitter": 30, "alpha": 0}
    _, trace = terminal.traced({"horizon": 5000, "tables": {"t": table}})
    delays = [u["start"] - u["upto"] for u in trace]
    assert all(0 <= delay <= 30 for delay in delays)
    assert len({round(delay) for delay in delays}) > 5
    assert [u["upto"] for u in trace] == [50 + 100 * n for n in range(len(trace))]


def stamps_of(terminal: Terminal, table: dict[str, Any], horizon: float) -> list[float]:
    """The time stamps of a table that is loaded file by file, at the moment each arrives."""
    _, trace = terminal.traced({"horizon": horizon, "tables": {"t": table | {"alpha": 0}}})
    assert all(u["start"] == u["upto"] for u in trace), "a file is stamped when it arrives"
    return [0.0, *(u["upto"] for u in trace)]


def test_quasiperiodic_files_are_between_half_a_period_and_a_period_apart(terminal: Terminal) -> None:
    stamps = stamps_of(terminal, {"period": 100, "pattern": "quasiperiodic"}, 20_000)
    distances = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    assert all(50 <= distance <= 100 for distance in distances)
    assert min(distances) < 55
    assert max(distances) > 95


def test_the_adversary_lets_minuscule_updates_follow_long_ones(terminal: Terminal) -> None:
    stamps = stamps_of(terminal, {"period": 100, "pattern": "adversarial"}, 50_000)
    distances = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    assert min(distances) > 0
    assert max(distances) / min(distances) > 1000
    followers = [after for before, after in itertools.pairwise(distances) if before > 100]
    assert len(followers) > 50
    assert max(followers) < 1
    assert stamps[-1] / len(stamps) == pytest.approx(100, rel=0.3), "about a period on average"


def test_the_adversary_makes_all_tables_release_at_once_now_and_then(terminal: Terminal) -> None:
    tables = {name: {"period": 100, "pattern": "adversarial", "alpha": 0} for name in "abc"}
    _, trace = terminal.traced({"horizon": 10_000, "tables": tables})
    moments = {name: [u["upto"] for u in trace if u["table"] == name] for name in tables}
    assert moments["a"] != moments["b"]
    for together in (1600, 3200, 4800, 6400, 8000, 9600):
        assert all(any(0 <= moment - together < 1 for moment in found) for found in moments.values())


def test_late_files_hold_the_views_back_that_must_not_miss_them(terminal: Terminal) -> None:
    tables = {"t": {"period": 10, "late": {"share": 0.5, "by": 25}, "alpha": 0}, "v": {"sources": ["t"], "alpha": 0}}
    _, trace = terminal.traced({"horizon": 1000, "tables": tables})
    for update in (u for u in trace if u["table"] == "v"):
        base = max(u["upto"] for u in trace if u["table"] == "t" and u["end"] <= update["start"])
        assert update["upto"] == base - 25


def test_updates_take_longer_while_the_machine_is_slow(terminal: Terminal) -> None:
    slowdown = {"factor": 3, "normal": 50, "slow": 20}
    _, trace = terminal.traced({"horizon": 700, "slowdown": slowdown, "tables": {"t": {"period": 10, "alpha": 1}}})
    seconds = {update["start"]: update["end"] - update["start"] for update in trace}
    assert seconds == {start: 3.0 if start % 70 >= 50 else 1.0 for start in seconds}
    assert set(seconds.values()) == {1.0, 3.0}


def test_target_lags_are_judged_by_the_maximum(terminal: Terminal) -> None:
    tables = terminal.simulate(BUSY, "--json").json["tables"]
    assert tables["a"]["target_lag"] == 60
    assert tables["a"]["kept"] == (tables["a"]["max"] <= 60)
    assert tables["b"]["kept"] is False
    assert "kept" not in tables["c"]


def test_people_get_a_table_and_the_seed(terminal: Terminal) -> None:
    told = terminal.simulate(BUSY)
    assert told.code == 0
    assert all(
        name in told.out for name in ("Table", "Maximum", "Stretch", "broken", "Weighted staleness", "LOW/2", "seed 7")
    )


def test_a_scenario_runs_as_a_command_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "s.yml").write_text(BUSY, encoding="utf-8")
    assert answer("simulate", "s.yml", at=tmp_path)["events"] > 100
    done = freshtide("simulate", "t.yml", at=tmp_path)
    assert done.returncode == 2
    assert "t.yml" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_trace_that_cannot_be_written_is_said(terminal: Terminal) -> None:
    told = terminal.simulate(BUSY, "--trace", str(terminal.folder / "nowhere" / "trace.jsonl"))
    assert told.code == 2
    assert "cannot be written" in told.err


BAD_DAY = """
horizon: 300
retry: {attempts: 2, backoff: 5s, longest: 1m}
stops: [[101, 131]]
scheduler: {ordering: fifo, allocation: global, chopping: none}
tables:
  steady: {period: 20, cost: 2}
  broken: {arrivals: [[30, 30], [200, 200]], cost: 2, failures: {during: [[25, 1m]], resumed_after: 60s}}
  x: {sources: [steady], cost: 1}
  y: {sources: [steady], cost: 1}
groups:
  pair: {tables: [x, y], failures: {during: [42]}}
"""


def test_updates_fail_and_a_warehouse_stops_in_a_scenario(terminal: Terminal) -> None:
    result, trace = terminal.traced(BAD_DAY)

    def spans(table: str) -> list[tuple[float, float, float]]:
        return [(u["start"], u["end"], u["upto"]) for u in trace if u["table"] == table]

    # From 30 to 32 and from 37 to 39 in vain, given up, resumed at 99; what began then was lost at 101.
    assert spans("broken") == [(133, 135, 30), (202, 204, 200)]
    # What ran from 42 to 43 is tried again five seconds later.
    assert spans("pair")[:3] == [(22, 23, 20), (48, 49, 40), (62, 63, 60)]
    assert result["tables"]["broken"]["failures"] == 2
    assert (result["tables"]["x"]["failures"], result["tables"]["y"]["failures"]) == (1, 1)
    assert [span for span in spans("steady") if 80 < span[0] < 150] == [(131, 133, 120), (140, 142, 140)]
    assert not [u for u in trace if u["start"] < 131 and u["end"] > 101]
    assert "3 updates failed" in terminal.simulate(BAD_DAY).out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run(terminal: Terminal, path: Path) -> None:
    result = terminal.type("simulate", str(path), "--json").json
    assert all(table["updates"] > 0 for table in result["tables"].values())


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3
