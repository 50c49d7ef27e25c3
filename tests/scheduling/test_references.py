"""Reference tables: they hold no view back, and a view follows them when they change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.events import ContentChanged, UpdateFinished

from .bench import Bench, arrival, table


def dim(**changes: Any) -> Any:
    return table("dim", **{"update_stream": True, "reference": True, **changes})


def facts_and(*others: Any, **changes: Any) -> Bench:
    """Facts, a dimension, and a view of both."""
    return Bench(table("facts"), dim(**changes), table("joined", "facts", "dim"), *others, tracks=2)


def test_a_view_goes_as_far_as_its_facts_whatever_the_time_of_its_dimension() -> None:
    bench = facts_and(freshness=3.0, safe=3.0)
    bench.at(20.0).arrives("facts", 10.0)
    assert bench.finishes("facts") == ["joined"]
    assert bench.running["joined"].upto == 10.0
    bench.finishes("joined")
    bench.at(30.0).arrives("facts", 25.0)
    assert bench.finishes("facts") == ["joined"]
    assert bench.running["joined"].upto == 25.0


def test_a_view_waits_for_the_first_load_of_its_dimension_and_says_so() -> None:
    bench = facts_and()
    bench.at(20.0).arrives("facts", 10.0)
    assert bench.finishes("facts") == []
    assert bench.scheduler.look("joined").waits == "reference table not loaded: 'dim' has no data yet"
    assert bench.at(30.0).arrives("dim", 1.0) == ["dim"]
    assert bench.finishes("dim") == ["joined"]
    assert bench.running["joined"].upto == 10.0


def test_a_view_is_computed_anew_when_its_dimension_has_changed_though_it_gets_no_fresher() -> None:
    bench = facts_and(freshness=3.0, safe=3.0)
    bench.at(20.0).arrives("facts", 10.0)
    bench.finishes("facts")
    bench.finishes("joined")
    bench.at(30.0).arrives("dim", 29.0)
    assert bench.finishes("dim", revised=True) == ["joined"]
    assert bench.running["joined"].upto == 10.0
    bench.finishes("joined", revised=True)
    assert bench.scheduler.look("joined").waits == "source not fresh: 'facts' has not moved on"


def test_a_view_follows_what_a_flow_has_made_and_waits_for_the_first_of_it() -> None:
    bench = facts_and()
    bench.at(20.0).arrives("facts", 10.0)
    assert bench.finishes("facts") == []
    assert bench.changes("dim", 20.5) == ["joined"]
    assert bench.finishes("joined") == []
    assert bench.at(40.0).changes("dim", 40.0, revised=True) == ["joined"]
    assert bench.running["joined"].upto == 10.0


def test_a_view_of_a_table_and_of_what_its_flow_has_made_is_computed_once_for_both() -> None:
    bench = facts_and(freshness=3.0, safe=3.0)
    bench.at(20.0).arrives("facts", 10.0)
    bench.finishes("facts")
    bench.finishes("joined")
    bench.at(30.0).arrives("facts", 25.0)
    facts = bench.running.pop("facts")
    done = UpdateFinished(table="facts", track=facts.track, freshness=25.0, safe=25.0, seconds=1.0)
    bench.happens(done, ContentChanged(table="dim", freshness=30.0, revised=True))
    assert bench.started() == ["joined"]
    assert bench.running["joined"].upto == 25.0
    assert bench.finishes("joined") == []


def test_a_load_that_changes_nothing_of_a_dimension_moves_no_view() -> None:
    bench = facts_and(freshness=3.0, safe=3.0)
    bench.at(20.0).arrives("facts", 10.0)
    bench.finishes("facts")
    bench.finishes("joined")
    bench.at(30.0).arrives("dim", 29.0)
    assert bench.finishes("dim") == []


def test_a_view_of_nothing_but_reference_tables_goes_with_each_of_them() -> None:
    names = table("names", "dim", "codes", update_stream=True, reference=True)
    bench = Bench(dim(), table("codes", update_stream=True, reference=True), names, tracks=2)
    bench.at(10.0).arrives("dim", 9.0)
    assert bench.finishes("dim") == []
    bench.at(11.0).arrives("codes", 2.0)
    assert bench.finishes("codes") == ["names"]
    bench.finishes("names")
    assert bench.scheduler.look("names").waits == "none of its reference tables has changed"
    bench.at(20.0).arrives("codes", 3.0)
    assert bench.finishes("codes", revised=True) == ["names"], "though the other one is younger"


def test_a_dimension_that_changed_while_nothing_ran_is_followed_at_the_start() -> None:
    joined = table("joined", "facts", "dim", freshness=10.0, safe=10.0, revised_sources=True)
    bench = Bench(table("facts", freshness=10.0, safe=10.0), dim(freshness=5.0, safe=5.0), joined)
    assert bench.at(50.0).timer() == ["joined"]


def test_a_dimension_waits_longer_the_longer_ago_its_file_came_and_not_by_its_time_stamp() -> None:
    bench = Bench(table("long"), dim(freshness=1.0, safe=1.0), table("facts", freshness=0.0, safe=0.0))
    assert bench.at(10.0).arrives("long", 1.0) == ["long"]
    bench.happens(arrival("dim", 1.5), arrival("facts", 4.0))
    assert bench.at(13.0).finishes("long") == ["facts"]
    bench = Bench(table("long"), dim(freshness=1.0, safe=1.0), table("facts", freshness=0.0, safe=0.0))
    bench.at(10.0).arrives("long", 1.0)
    bench.happens(arrival("dim", 1.5), arrival("facts", 4.0))
    assert bench.at(15.0).finishes("long") == ["dim"]


@given(moves=st.lists(st.tuples(st.sampled_from(["facts", "dim"]), st.booleans()), max_size=25))
def test_a_view_is_as_fresh_as_its_facts_and_has_followed_every_change_of_its_dimension(
    moves: list[tuple[str, bool]],
) -> None:
    """Against a model that knows nothing of queues."""
    bench = facts_and(freshness=0.0, safe=0.0)
    newest: float | None = None
    for moment, (name, revised) in enumerate(moves, start=1):
        bench.at(float(moment)).arrives(name, float(moment))
        started = bench.finishes(name, revised=revised and name == "dim")
        changes = newest is not None and name == "dim" and revised
        newest = float(moment) if name == "facts" else newest
        assert started == (["joined"] if name == "facts" or changes else [])
        if started:
            bench.finishes("joined", revised=changes)
        assert bench.scheduler.look("joined").freshness == newest


@pytest.mark.parametrize("ordering", ["target-lag", "max-benefit", "edf", "fifo"])
def test_all_orderings_let_a_view_go_past_its_dimension(ordering: str) -> None:
    bench = Bench(
        table("facts"), dim(freshness=3.0, safe=3.0), table("joined", "facts", "dim"), tracks=2, ordering=ordering
    )
    bench.at(20.0).arrives("facts", 10.0)
    assert bench.finishes("facts") == ["joined"]
