"""Cuts, checked against an oracle that knows nothing but the definition of a bucketed view."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.cuts import Cuts
from freshtide.core.grains import Grain
from freshtide.core.graph import TableGraph
from freshtide.core.instants import micros_of
from freshtide.core.latest import LatestSemantics
from freshtide.core.tables import Emit, Maintenance, Table

from .declared import base, view

SECOND = 1_000_000
HOUR, DAY = 3_600 * SECOND, 86_400 * SECOND
NINE = micros_of(datetime(2026, 5, 1, 9, tzinfo=UTC))


def hourly(name: str, *sources: str, emit: Emit = Emit.ALL, lookback: float | None = None) -> Table:
    return view(
        name,
        *sources,
        maintain=Maintenance.PARTITIONS,
        grain=Grain.of_seconds(3_600),
        emit=emit,
        lookback=lookback,
    )


def daily(name: str, *sources: str, emit: Emit = Emit.ALL) -> Table:
    return view(name, *sources, maintain=Maintenance.PARTITIONS, grain=Grain.of_seconds(86_400), emit=emit)


def rows(name: str, *sources: str) -> Table:
    return view(name, *sources, maintain=Maintenance.APPEND)


def cuts(*tables: Table) -> Cuts:
    return Cuts(TableGraph(tables))


def test_rows_of_a_base_table_are_final_up_to_and_with_the_cut() -> None:
    assert cuts(base("cpu")).closed_before("cpu", NINE) == NINE + 1


def test_a_row_wise_view_is_as_final_as_its_source() -> None:
    assert cuts(base("cpu"), rows("busy", "cpu")).closed_before("busy", NINE) == NINE + 1


def test_a_view_is_computed_whole_where_nothing_before_it_is_final() -> None:
    some = cuts(
        base("cpu"),
        rows("busy", "cpu"),
        hourly("by_hour", "busy"),
        rows("of_hours", "by_hour"),
        view("all", "cpu", maintain=Maintenance.FULL),
        hourly("hours_of_all", "all"),
    )
    assert {name for name in some.tables if some.computes_whole(name)} == {"all", "hours_of_all"}


def test_no_row_of_an_update_table_is_ever_final_nor_of_a_view_of_it() -> None:
    newest = LatestSemantics(key=("host",))
    some = cuts(
        base("cpu", latest=newest, maintain=Maintenance.LATEST),
        view("board", "cpu", latest=newest, maintain=Maintenance.LATEST),
        view("total", "cpu", maintain=Maintenance.FULL),
        base("calls"),
        rows("both", "cpu", "calls"),
    )
    for name in ("cpu", "board", "total", "both"):
        assert some.closed_before(name, NINE) is None
        assert some.reach(name, NINE) == NINE
    assert not any(some.appends_only(name) for name in ("cpu", "board", "total"))
    assert not some.bounded("board")
    assert some.reads_from("board", NINE) is None, "from the beginning"


def test_an_hour_is_open_until_its_last_microsecond_is_in() -> None:
    some = cuts(base("cpu"), hourly("h", "cpu"))
    assert some.closed_before("h", NINE + HOUR - 2) == NINE
    assert some.closed_before("h", NINE + HOUR - 1) == NINE + HOUR


def test_a_lookback_keeps_an_hour_open_for_so_much_longer() -> None:
    some = cuts(base("cpu"), hourly("h", "cpu", lookback=600.0))
    assert some.closed_before("h", NINE + HOUR + 600 * SECOND - 2) == NINE
    assert some.closed_before("h", NINE + HOUR + 600 * SECOND - 1) == NINE + HOUR


def test_a_day_of_hours_closes_with_its_last_hour() -> None:
    some = cuts(base("cpu"), hourly("h", "cpu"), daily("d", "h"))
    midnight = Grain(width=DAY).ceil(NINE)
    assert some.closed_before("d", midnight - 2) == midnight - DAY
    assert some.closed_before("d", midnight - 1) == midnight


def test_a_row_wise_view_of_an_hourly_one_is_open_where_the_hour_is() -> None:
    some = cuts(base("cpu"), hourly("h", "cpu"), rows("r", "h"))
    assert some.closed_before("r", NINE + HOUR // 2) == NINE


def test_nothing_is_ever_final_in_a_view_computed_in_full_nor_above_it() -> None:
    some = cuts(base("cpu"), view("f", "cpu", maintain=Maintenance.FULL), hourly("h", "f", emit=Emit.CLOSED))
    assert some.closed_before("f", NINE) is None
    assert some.closed_before("h", NINE) is None
    assert some.reach("h", NINE) is None


def test_a_join_is_as_open_as_its_most_open_source() -> None:
    some = cuts(base("cpu"), base("disk"), hourly("h", "cpu"), rows("j", "disk", "h"))
    assert some.closed_before("j", NINE + HOUR // 2) == NINE


def test_only_views_that_emit_closed_buckets_stop_short_of_the_cut() -> None:
    some = cuts(base("cpu"), hourly("shown", "cpu"), hourly("closed", "cpu", emit=Emit.CLOSED))
    middle = NINE + HOUR // 2
    assert some.reach("cpu", middle) == middle
    assert some.reach("shown", middle) == middle
    assert some.reach("closed", middle) == NINE - 1


@pytest.mark.parametrize(
    ("table", "appends_only"),
    [
        (base("t"), True),
        (rows("t", "cpu"), True),
        (view("t", "cpu", maintain=Maintenance.APPEND, exact_time=False), False),
        (hourly("t", "cpu"), False),
        (hourly("t", "cpu", emit=Emit.CLOSED), True),
        (view("t", "cpu", maintain=Maintenance.FULL), False),
    ],
)
def test_the_past_of_a_table_is_cut_out_by_time_stamp_only_where_rows_stay_as_they_are(
    table: Table, appends_only: bool
) -> None:
    assert cuts(base("cpu"), table).appends_only("t") is appends_only


GRAINS = st.sampled_from(
    [
        Grain.of_seconds(60),
        Grain.of_seconds(900),
        Grain.of_seconds(3_600),
        Grain.of_seconds(86_400),
        Grain.of_seconds(7),
        Grain(unit="week"),
        Grain(unit="month"),
        Grain(unit="quarter"),
        Grain(unit="year"),
    ]
)


@st.composite
def graphs(draw: st.DrawFn) -> Cuts:
    """Graphs of two base tables and some views, the last of which emits closed buckets only."""
    tables = [base("b0"), base("b1")]
    count = draw(st.integers(1, 5))
    for number in range(count):
        names = [table.name for table in tables]
        sources = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        lookback = draw(st.sampled_from([None, 0.0, 5.0, 600.0, 4_000.0]))
        closed = number == count - 1 or draw(st.booleans())
        bucketed = closed or draw(st.booleans())
        tables.append(
            view(
                f"v{number}",
                *sources,
                maintain=Maintenance.PARTITIONS if bucketed else Maintenance.APPEND,
                grain=draw(GRAINS) if bucketed else None,
                lookback=lookback,
                emit=Emit.CLOSED if closed else Emit.ALL,
            )
        )
    return cuts(*tables)


INSTANTS = st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(micros_of)


@given(graphs(), INSTANTS, st.integers(0, 400 * DAY))
def test_what_is_final_stays_final_as_the_cut_moves_on(some: Cuts, cut: int, later: int) -> None:
    for name in some.tables:
        now, then = some.closed_before(name, cut), some.closed_before(name, cut + later)
        assert now is not None
        assert then is not None
        assert now <= then
        assert now <= cut + 1, "a row from beyond the cut cannot be final"


@given(graphs(), INSTANTS)
def test_reaching_is_done_after_one_step(some: Cuts, cut: int) -> None:
    for name in some.tables:
        reached = some.reach(name, cut)
        assert reached is not None
        assert reached <= cut
        assert some.reach(name, reached) == reached


@given(graphs(), INSTANTS)
def test_the_reach_of_a_closed_view_is_the_first_cut_with_the_same_final_rows(some: Cuts, cut: int) -> None:
    for name, table in some.tables.items():
        if table.emits_closed_buckets:
            reached = some.reach(name, cut)
            assert reached is not None
            closed = some.closed_before(name, cut)
            assert some.closed_before(name, reached) == closed
            before = some.closed_before(name, reached - 1)
            assert before is not None
            assert closed is not None
            assert before < closed


@given(graphs(), INSTANTS)
def test_a_bucket_is_final_exactly_when_all_it_depends_on_is_below_the_cut(some: Cuts, cut: int) -> None:
    """The oracle asks of a single row, going down the graph, which base rows it depends on."""
    for name in some.tables:
        closed = some.closed_before(name, cut)
        assert closed is not None
        assert _last_base_instant(some, name, closed - 1) <= cut
        assert _last_base_instant(some, name, closed) > cut


def _last_base_instant(some: Cuts, name: str, stamp: int) -> int:
    """The latest base row that can bear on a row of the table with this time stamp."""
    table = some.tables[name]
    if table.is_base:
        return stamp
    end = stamp
    if table.maintain is Maintenance.PARTITIONS:
        assert table.grain is not None
        end = table.grain.ceil(stamp + 1) - 1 + round((table.lookback or 0.0) * SECOND)
    return max(_last_base_instant(some, source, end) for source in table.sources)


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (hourly("x", "cpu"), daily("y", "cpu"), True),
        (hourly("x", "cpu"), rows("y", "cpu"), True),
        (hourly("x", "cpu", emit=Emit.CLOSED), hourly("y", "cpu", emit=Emit.CLOSED), True),
        (hourly("x", "cpu", emit=Emit.CLOSED), hourly("y", "cpu"), False),
        (hourly("x", "cpu", emit=Emit.CLOSED), daily("y", "cpu", emit=Emit.CLOSED), False),
        (hourly("x", "cpu", emit=Emit.CLOSED), hourly("y", "cpu", emit=Emit.CLOSED, lookback=60.0), False),
    ],
)
def test_views_move_alike_when_their_buckets_close_at_the_same_moments(
    first: Table, second: Table, alike: bool
) -> None:
    some = cuts(base("cpu"), first, second)
    assert some.move_alike("x", "y") is alike
    moments = [NINE + step * HOUR // 4 + tick for step in range(120) for tick in (-1, 0)]
    assert all(some.reach("x", at) == some.reach("y", at) for at in moments) is alike


def test_an_update_reads_its_sources_from_where_the_table_is_open() -> None:
    some = cuts(base("cpu"), rows("copy", "cpu"), hourly("h", "cpu"), hourly("l", "cpu", lookback=60.0))
    assert some.reads_from("copy", NINE) == NINE + 1
    assert some.reads_from("h", NINE + 5) == NINE
    assert some.reads_from("l", NINE + 5) == NINE - HOUR - 60 * SECOND
    everything = cuts(base("cpu"), view("total", "cpu", maintain=Maintenance.FULL))
    assert everything.reads_from("total", NINE) is None
