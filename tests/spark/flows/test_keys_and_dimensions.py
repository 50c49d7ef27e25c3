"""Surrogate keys are for ever, and dimensions change slowly."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from freshtide.flows import Recordset
from freshtide.flows.activities import Expression, SlowlyChanging, SurrogateKey
from freshtide.spark.flows import ActivityError
from tests.examples import slow_except

from .flowbench import FlowBench, graph, node, read, write

_KEYS = graph(
    read("orders"),
    node("numbered", SurrogateKey(key=("shop",), column="shop_key", lookup="shops"), "orders"),
    write("facts", "numbered"),
)


@pytest.mark.parametrize("policy", slow_except(["round-robin", "mixed"], "mixed"))
def test_a_key_once_assigned_stays_across_packs_and_runs(bench: FlowBench, policy: str) -> None:
    bench.put("orders", {"id": [1, 2, 3, 4], "shop": ["b", "a", None, "b"]})
    bench.run(_KEYS, policy=policy, pack_rows=2)
    first = dict(bench.frame("shops").select("shop", "shop_key").rows())
    assert set(first) == {"a", "b"}
    assert len(set(first.values())) == 2
    assert dict(bench.frame("facts").select("id", "shop_key").rows()) == {
        1: first["b"],
        2: first["a"],
        3: None,
        4: first["b"],
    }

    bench.put("orders", {"id": [5, 6], "shop": ["c", "a"]})
    later = bench.restarted()
    later.run(_KEYS, policy=policy, pack_rows=1)
    second = dict(later.frame("shops").select("shop", "shop_key").rows())
    assert {shop: second[shop] for shop in first} == first
    assert second["c"] not in first.values()
    assert dict(later.frame("facts").select("id", "shop_key").rows()) == {5: second["c"], 6: first["a"]}


def test_a_lookup_table_of_other_keys_is_refused(bench: FlowBench) -> None:
    bench.put("orders", {"id": [1], "shop": ["a"]})
    bench.run(_KEYS)
    other = graph(
        read("orders"),
        node("numbered", SurrogateKey(key=("id",), column="shop_key", lookup="shops"), "orders"),
        write("facts", "numbered"),
    )
    with pytest.raises(ActivityError, match="lookup table 'shops' has other columns"):
        bench.run(other)


def _dimension(type_: int, **how: object) -> SlowlyChanging:
    return SlowlyChanging(target=Recordset(table="dim"), key=("id",), type=type_, **how)  # type: ignore[arg-type]


def test_type_1_overwrites_what_has_changed_and_keeps_the_rest(bench: FlowBench) -> None:
    flow = graph(read("rows"), node("dim", _dimension(1, compare=("city",)), "rows"))
    bench.put("rows", {"id": [1, 2, 3], "city": ["Athens", "Bari", "Corfu"], "seen": [1, 1, 1]})
    bench.run(flow)
    bench.put("rows", {"id": [2, 3, 4], "city": ["Bonn", "Corfu", None], "seen": [2, 2, 2]})
    bench.run(flow, policy="rr")
    assert sorted(bench.frame("dim").rows()) == [(1, "Athens", 1), (2, "Bonn", 2), (3, "Corfu", 1), (4, None, 2)]


def test_type_2_closes_the_old_version_and_opens_a_new_one(bench: FlowBench) -> None:
    days = [datetime(2026, 5, day, tzinfo=UTC) for day in (1, 2, 3)]
    flow = graph(
        read("rows"),
        node("from", Expression(columns={"since": "make_timestamp(2026, 5, day, 0, 0, 0)"}), "rows"),
        node("whole", Expression(columns={"id": "id", "city": "city", "since": "since"}, only=True), "from"),
        node("dim", _dimension(2, as_of="since"), "whole"),
    )
    bench.put("rows", {"id": [1, 2], "city": ["Athens", "Bari"], "day": [1, 1]})
    bench.run(flow)
    bench.put("rows", {"id": [1, 2, 3], "city": ["Athens", "Bonn", "Corfu"], "day": [2, 2, 2]})
    bench.run(flow)
    bench.put("rows", {"id": [2], "city": ["Bremen"], "day": [3]})
    bench.run(flow, policy="mm")
    found = bench.frame("dim").select("id", "city", "valid_from", "valid_to", "is_current")
    assert sorted(found.rows(), key=lambda row: (row[0], row[2])) == [
        (1, "Athens", days[0], None, True),
        (2, "Bari", days[0], days[1], False),
        (2, "Bonn", days[1], days[2], False),
        (2, "Bremen", days[2], None, True),
        (3, "Corfu", days[1], None, True),
    ]


@pytest.mark.parametrize("type_", [1, 2])
def test_two_rows_of_one_key_are_an_error(bench: FlowBench, type_: int) -> None:
    flow = graph(read("rows"), node("dim", _dimension(type_), "rows"))
    bench.put("rows", {"id": [1, 1], "city": ["Athens", "Bari"]})
    with pytest.raises(ActivityError, match=r"'dim' got more than one row of a key: \{\"id\":1\}"):
        bench.run(flow)


@pytest.mark.parametrize("type_", [1, 2])
def test_the_same_row_twice_is_one(bench: FlowBench, type_: int) -> None:
    flow = graph(read("rows"), node("dim", _dimension(type_), "rows"))
    bench.put("rows", {"id": [1, 1, 2], "city": ["Athens", "Athens", None]})
    bench.run(flow)
    assert sorted(bench.frame("dim").select("id", "city").rows()) == [(1, "Athens"), (2, None)]


def test_type_1_keeps_the_last_row_in_order(bench: FlowBench) -> None:
    flow = graph(read("rows"), node("dim", _dimension(1, order=("turn DESC",)), "rows"))
    bench.put("rows", {"id": [1, 1, 2], "city": ["Athens", "Bari", "Corfu"], "turn": [1, 2, 1]})
    bench.run(flow)
    assert sorted(bench.frame("dim").rows()) == [(1, "Athens", 1), (2, "Corfu", 1)]
