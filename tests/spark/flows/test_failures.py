"""A flow that fails says where, commits nothing, and can be run again; a crash between two commits is finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.core.errors import UsageError
from freshtide.flows import FlowGraph, Limits, Recordset
from freshtide.flows.activities import Expression, Filter, Router, Sort, Write
from freshtide.spark.flows import ActivityError
from freshtide.spark.flows.schemas import resolve_flow
from freshtide.spark.flows.targets import targets_of
from freshtide.storage import StorageError, Store, StoredTable
from freshtide.storage.jointcommits import Commit
from freshtide.storage.journal import finish_interrupted, write_journal
from tests.examples import slow_except

from .flowbench import FlowBench, graph, node, read, write

_FLOW = graph(
    read("rows"),
    node("numbers", Expression(columns={"number": "CAST(text AS INT)"}), "rows"),
    write("copied", "rows"),
    write("numbers", "numbers"),
    node("files", Write(target=Recordset(files="out")), "numbers"),
)


@pytest.mark.parametrize("policy", slow_except(["round-robin", "mixed"], "mixed"))
def test_a_failing_activity_is_named_with_the_pack_and_nothing_is_committed(bench: FlowBench, policy: str) -> None:
    bench.put("rows", {"text": ["1", "2", "3"]})
    bench.run(_FLOW, policy=policy)
    before = (bench.rows("copied"), bench.rows("numbers"), _versions(bench))

    bench.put("rows", {"text": ["4", "5", "six", "7"]})
    with pytest.raises(ActivityError, match=r"Activity 'numbers' failed at pack 2: .*'six'"):
        bench.run(_FLOW, policy=policy, pack_rows=2)
    assert (bench.rows("copied"), bench.rows("numbers"), _versions(bench)) == before
    assert not list(bench.scratch.iterdir())

    bench.put("rows", {"text": ["8"]})
    bench.run(_FLOW, policy=policy)
    assert bench.rows("numbers") == {("8", 8): 1}
    assert bench.spark.read.parquet(str(bench.root / "out")).count() == 1


@pytest.mark.parametrize("policy", slow_except(["minimum-cost", "mixed"], "mixed"))
def test_a_row_that_two_routes_want_stops_the_flow(bench: FlowBench, policy: str) -> None:
    flow = graph(
        read("rows"),
        node("routed", Router(routes={"small": "n < 3", "even": "n % 2 = 0"}), "rows"),
        write("small", "routed.small"),
        write("even", "routed.even"),
    )
    bench.put("rows", {"n": [1, 4, 2]})
    with pytest.raises(ActivityError, match=r"'routed' failed .*'small' and 'even': \{\"n\":2\}"):
        bench.run(flow, policy=policy)
    assert not list(bench.root.glob("tables/*/_delta_log"))


def test_rows_can_be_added_to_tables_and_files(bench: FlowBench) -> None:
    flow = graph(
        read("rows"),
        write("log", "rows", mode="append"),
        node("files", Write(target=Recordset(files="log_files"), mode="append"), "rows"),
    )
    for value in (1, 2):
        bench.put("rows", {"n": [value]})
        bench.run(flow)
    assert bench.rows("log") == {(1,): 1, (2,): 1}
    assert sorted(row[0] for row in bench.spark.read.parquet(str(bench.root / "log_files")).collect()) == [1, 2]


@pytest.mark.parametrize("landed", slow_except([0, 1, 2], 1))
def test_a_crash_between_two_commits_is_finished_by_the_next_run(bench: FlowBench, landed: int) -> None:
    bench.put("rows", {"text": ["1"]})
    bench.run(_FLOW)
    bench.put("rows", {"text": ["2", "3"]})
    commits = _prepared(bench, _FLOW)
    write_journal(bench.store.disk, _folder(bench), commits)
    for commit in commits[:landed]:
        commit.carry_out(bench.store)

    later = bench.restarted()
    finish_interrupted([_folder(bench)], later.store)
    assert later.rows("copied") == {("2",): 1, ("3",): 1}
    assert later.rows("numbers") == {("2", 2): 1, ("3", 3): 1}
    assert bench.spark.read.parquet(str(bench.root / "out")).count() == 2
    assert not list(bench.root.glob(".out*")), "nothing is left beside the files"
    later.run(_FLOW)
    assert later.rows("numbers") == {("2", 2): 1, ("3", 3): 1}


def test_who_interrupts_the_commits_finds_them_finished_by_the_next_run(bench: FlowBench) -> None:
    bench.put("rows", {"text": ["1"]})
    bench.store = _InterruptedStore(bench.store.root)
    with pytest.raises(KeyboardInterrupt):
        bench.run(_FLOW)
    later = bench.restarted()
    assert later.rows("copied") == {("1",): 1}
    assert later.store.table("numbers").snapshot is None

    later.put("rows", {"text": ["wrong"]})
    with pytest.raises(ActivityError):
        later.run(_FLOW)
    assert later.rows("numbers") == {("1", 1): 1}, "what had been begun was finished before the new run failed"
    assert bench.spark.read.parquet(str(bench.root / "out")).count() == 1


class _InterruptedStore(Store):
    """Somebody presses Ctrl-C when the second table is to be committed: it has been asked for its columns before."""

    asked = 0

    def table(self, name: str, *, time_column: str | None = None) -> StoredTable:
        self.asked += name == "numbers"
        if self.asked == 3:
            raise KeyboardInterrupt
        return super().table(name, time_column=time_column)


def test_a_target_that_cannot_be_committed_takes_the_others_back(bench: FlowBench) -> None:
    bench.put("rows", {"n": [1]})
    bench.run(graph(read("rows"), write("a", "rows"), write("z", "rows", mode="append")))
    bench.put("rows", {"n": ["one"]})
    other = graph(
        read("rows"),
        write("a", "rows"),
        node("files", Write(target=Recordset(files="out")), "rows"),
        write("z", "rows", mode="append"),
    )
    with pytest.raises(StorageError, match="Column 'n' of 'z'"):
        bench.run(other)
    assert bench.rows("a") == bench.rows("z") == {(1,): 1}
    assert not (bench.root / "out").exists()


@pytest.mark.parametrize("policy", slow_except(["round-robin", "minimum-memory", "mixed"], "mixed"))
def test_a_memory_budget_of_a_tenth_of_the_data_is_kept(bench: FlowBench, policy: str) -> None:
    numbers = list(range(2_000))
    path = bench.put("rows", {"n": numbers, "text": [f"row {number}" for number in numbers]})
    budget = path.stat().st_size // 10
    flow = graph(
        read("rows"),
        node("most", Filter(condition="n % 10 > 0"), "rows"),
        node("sorted", Sort(by=("n DESC",)), "most"),
        write("sorted", "sorted"),
        write("most", "most"),
    )
    report = bench.run(flow, policy=policy, limits=Limits(packs=3, memory=budget), pack_rows=400)
    assert report.record.maximum_size <= budget
    wanted = sorted(number for number in numbers if number % 10)
    for table in ("sorted", "most"):
        assert sorted(bench.frame(table)["n"].to_list()) == wanted


def test_policies_are_called_by_short_names_too_and_others_are_refused(bench: FlowBench) -> None:
    with pytest.raises(UsageError, match=r"no policy 'round_robin'.*round-robin"):
        bench.run(_FLOW, policy="round_robin")


def test_two_activities_cannot_write_the_same_target(bench: FlowBench) -> None:
    bench.put("rows", {"n": [1]})
    flow = graph(read("rows"), write("t", "rows"), node("again", Write(target=Recordset(table="t")), "rows"))
    with pytest.raises(UsageError, match="2 activities of flow 'flow' write to the table t"):
        bench.run(flow)


def _folder(bench: FlowBench) -> Path:
    folder = bench.scratch / "flow"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _prepared(bench: FlowBench, flow: FlowGraph) -> list[Commit]:
    """The commits of a flow just before they are carried out."""
    recordsets = bench.recordsets()
    targets = targets_of(flow, recordsets, resolve_flow(flow, recordsets).by_target)
    rows = bench.spark.read.parquet(str(bench.root / "rows.parquet"))
    numbers = rows.selectExpr("*", "CAST(text AS INT) AS number")
    for name, frame in (("write copied", rows), ("write numbers", numbers), ("files", numbers)):
        targets[name].write(frame)
    prepared = [target.prepare(at=1_000.0) for target in targets.values()]
    return [commit for commit in prepared if commit is not None]


def _versions(bench: FlowBench) -> list[int]:
    store = Store(bench.root / "tables")
    return [snapshot.version for name in ("copied", "numbers") if (snapshot := store.table(name).snapshot)]
