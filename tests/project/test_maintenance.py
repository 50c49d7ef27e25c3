"""Maintenance: what follows from a shape, and what is refused."""

from __future__ import annotations

import pytest

from freshtide.core.grains import INSTANT, Grain
from freshtide.core.tables import Emit, Maintenance
from freshtide.project.tables.maintenance import (
    MaintenanceError,
    MaintenancePlan,
    SourceFacts,
    opaque_shape,
    plan_maintenance,
)
from freshtide.sql.shapes import Shape, SourceShape, shape_of
from freshtide.sql.text import parse_query

APPEND, PARTITIONS, FULL = Maintenance.APPEND, Maintenance.PARTITIONS, Maintenance.FULL
HOUR, DAY, MINUTE = Grain.of_seconds(3_600), Grain.of_seconds(86_400), Grain.of_seconds(60)
APPENDED = SourceFacts(appends_only=True, revisable_forever=False)
REVISED = SourceFacts(appends_only=False, revisable_forever=False)
NEVER_FINAL = SourceFacts(appends_only=False, revisable_forever=True)

ROWS = "SELECT * FROM a"
PER_INSTANT = "SELECT ts, count(*) AS n FROM a GROUP BY ts"
HOURLY = "SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM a GROUP BY 1"
HOUR_OF_ROWS = "SELECT date_trunc('hour', ts) AS hour, v FROM a"
HOUR_ROWS = "SELECT hour, n * 2 AS m FROM h"
BAND_JOIN = "SELECT greatest(a.ts, b.ts) AS t FROM a JOIN b ON a.k = b.k"
HOUR_JOIN = "SELECT greatest(a.ts, b.ts) AS t FROM a JOIN b ON date_trunc('hour', a.ts) = date_trunc('hour', b.ts)"
LOOSE_JOIN = "SELECT a.ts FROM a JOIN b ON a.k = b.k"
RUNNING = "SELECT ts, sum(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM a"
TOTAL = "SELECT k, count(*) AS n FROM a GROUP BY k"
UNION = "SELECT ts FROM a UNION ALL SELECT ts FROM b"


def shape(sql: str) -> Shape:
    sources = {name: SourceShape(time_column="ts") for name in ("a", "b")}
    return shape_of(parse_query(sql), sources | {"h": SourceShape(time_column="hour", grain=HOUR)})


def plan(
    view: str | Shape,
    *,
    a: SourceFacts = APPENDED,
    b: SourceFacts | None = None,
    maintain: Maintenance | None = None,
    lookback: float | None = None,
    emit: Emit = Emit.ALL,
    grain: Grain | None = None,
    trusted: bool = False,
) -> MaintenancePlan:
    return plan_maintenance(
        shape(view) if isinstance(view, str) else view,
        name="view",
        sources={"a": a} if b is None else {"a": a, "b": b},
        requested=maintain,
        lookback=lookback,
        emit=emit,
        declared_grain=grain,
        trusted=trusted,
    )


def outline(found: MaintenancePlan) -> tuple[Maintenance, Grain | None, bool, bool]:
    return found.maintain, found.grain, found.linear, found.exact_time


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        pytest.param(ROWS, (APPEND, INSTANT, True, True), id="rows are appended"),
        pytest.param(PER_INSTANT, (APPEND, INSTANT, False, True), id="groups of an instant are appended"),
        pytest.param(UNION, (APPEND, INSTANT, False, True), id="unions are appended"),
        pytest.param(BAND_JOIN, (APPEND, INSTANT, True, True), id="band joins are appended"),
        pytest.param(HOUR_JOIN, (APPEND, INSTANT, True, True), id="exact joins close with their sources"),
        pytest.param(HOUR_ROWS, (APPEND, HOUR, True, True), id="rows of closed hours close by the hour"),
        pytest.param(LOOSE_JOIN, (APPEND, INSTANT, True, False), id="joins at any time are appended"),
        pytest.param(HOURLY, (PARTITIONS, HOUR, False, False), id="buckets are replaced"),
        pytest.param(HOUR_OF_ROWS, (PARTITIONS, HOUR, False, False), id="buckets of rows become final"),
        pytest.param(RUNNING, (FULL, INSTANT, False, False), id="what reaches back is computed in full"),
        pytest.param(TOTAL, (FULL, None, False, False), id="what has no time is computed in full"),
    ],
)
def test_over_sources_that_append(view: str, expected: tuple[Maintenance, Grain | None, bool, bool]) -> None:
    found = plan(view)
    assert outline(found) == expected
    assert found.reason


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        pytest.param(ROWS, PARTITIONS, id="rows are replaced with those of the source"),
        pytest.param(HOURLY, PARTITIONS, id="buckets are replaced"),
        pytest.param(HOUR_JOIN, PARTITIONS, id="local joins are replaced"),
        pytest.param(LOOSE_JOIN, FULL, id="other joins are computed in full"),
    ],
)
def test_over_a_source_that_revises(view: str, expected: Maintenance) -> None:
    assert plan(view, a=APPENDED, b=REVISED).maintain is expected


def test_over_a_source_that_is_never_final() -> None:
    found = plan(ROWS, b=NEVER_FINAL)
    assert found.maintain is FULL
    assert "'b'" in found.reason


def test_a_lookback_makes_partitions_of_what_reaches_back() -> None:
    found = plan(RUNNING, lookback=60.0)
    assert outline(found) == (PARTITIONS, INSTANT, False, False)
    assert "lookback" in found.reason


def test_a_lookback_tells_when_the_rows_of_a_loose_join_are_final() -> None:
    assert outline(plan(LOOSE_JOIN, lookback=60.0)) == (APPEND, INSTANT, True, False)


def test_a_declared_grain_widens_the_buckets() -> None:
    assert outline(plan(HOURLY, grain=DAY))[:2] == (PARTITIONS, DAY)
    assert outline(plan(ROWS, grain=HOUR))[:2] == (PARTITIONS, HOUR)


def test_a_declared_grain_does_not_keep_a_band_join_from_appending() -> None:
    assert plan(BAND_JOIN, grain=HOUR).maintain is APPEND


@pytest.mark.parametrize("maintain", [APPEND, PARTITIONS, FULL])
def test_a_request_that_fits_is_followed(maintain: Maintenance) -> None:
    assert plan(ROWS, maintain=maintain).maintain is maintain


def test_full_is_always_right() -> None:
    assert plan(TOTAL, a=NEVER_FINAL, maintain=FULL).reason == "as declared"


def test_linear_views_can_be_appended_whatever_their_grain() -> None:
    assert outline(plan(HOUR_OF_ROWS, maintain=APPEND)) == (APPEND, HOUR, True, False)


@pytest.mark.parametrize(
    ("view", "maintain", "facts", "words", "way_out"),
    [
        pytest.param(TOTAL, APPEND, APPENDED, "no time column", "time_column", id="append without a time"),
        pytest.param(TOTAL, PARTITIONS, APPENDED, "no time column", "Select one", id="partitions without a time"),
        pytest.param(ROWS, APPEND, REVISED, "'a' revises", "emit 'closed' on 'a'", id="append over revised rows"),
        pytest.param(ROWS, APPEND, NEVER_FINAL, "'a' is ever final", "in full", id="append over a full table"),
        pytest.param(HOURLY, APPEND, APPENDED, "bucket of 1h", "partitions", id="append of buckets"),
        pytest.param(RUNNING, APPEND, APPENDED, "window function", "full", id="append of what reaches back"),
        pytest.param(HOURLY, PARTITIONS, NEVER_FINAL, "'a' is ever final", "in full", id="partitions of a full table"),
        pytest.param(
            RUNNING, PARTITIONS, APPENDED, "window function", "'lookback'", id="partitions without a lookback"
        ),
    ],
)
def test_refuses(view: str, maintain: Maintenance, facts: SourceFacts, words: str, way_out: str) -> None:
    with pytest.raises(MaintenanceError, match="'view'") as caught:
        plan(view, a=facts, maintain=maintain)
    assert words in caught.value.message
    assert way_out in (caught.value.way_out or "")


def test_a_requested_partitioning_with_a_lookback_is_followed() -> None:
    assert plan(RUNNING, maintain=PARTITIONS, lookback=3_600.0).maintain is PARTITIONS


def test_refuses_a_grain_that_cuts_buckets_apart() -> None:
    with pytest.raises(MaintenanceError, match="buckets of 1h"):
        plan(HOURLY, grain=MINUTE)


@pytest.mark.parametrize(
    ("view", "grain"),
    [
        pytest.param(HOURLY, HOUR, id="of a group"),
        pytest.param(HOUR_OF_ROWS, HOUR, id="of rows"),
        pytest.param(HOUR_JOIN, HOUR, id="of a join that could be appended to"),
    ],
)
def test_closed_buckets_can_be_emitted(view: str, grain: Grain) -> None:
    assert outline(plan(view, emit=Emit.CLOSED))[:2] == (PARTITIONS, grain)


@pytest.mark.parametrize(
    ("view", "maintain", "words"),
    [
        pytest.param(ROWS, None, "an instant", id="single instants"),
        pytest.param(TOTAL, None, "maintained by full", id="no time"),
        pytest.param(HOURLY, FULL, "maintained by full", id="a view maintained in full"),
        pytest.param(BAND_JOIN, None, "maintained by append", id="a band join"),
        pytest.param(HOUR_OF_ROWS, APPEND, "maintained by append", id="a view maintained by append"),
    ],
)
def test_closed_buckets_need_buckets(view: str, maintain: Maintenance | None, words: str) -> None:
    with pytest.raises(MaintenanceError, match=words):
        plan(view, maintain=maintain, emit=Emit.CLOSED)


def test_a_python_function_proves_nothing() -> None:
    found = plan(opaque_shape("ts", None), trusted=True)
    assert found.maintain is FULL
    assert "Python" in found.reason


def test_a_python_function_is_believed() -> None:
    function = opaque_shape("ts", None)
    assert outline(plan(function, maintain=APPEND, trusted=True)) == (APPEND, INSTANT, False, True)
    assert outline(plan(function, b=APPENDED, maintain=APPEND, trusted=True)) == (APPEND, INSTANT, True, False)
    found = plan(function, maintain=PARTITIONS, grain=HOUR, trusted=True)
    assert outline(found) == (PARTITIONS, HOUR, False, False)


def test_a_python_function_over_closed_hours_closes_by_the_hour() -> None:
    found = plan(opaque_shape("hour", HOUR), maintain=APPEND, trusted=True)
    assert outline(found) == (APPEND, HOUR, False, True)


def test_a_python_function_must_declare_its_buckets() -> None:
    with pytest.raises(MaintenanceError, match="Python function") as caught:
        plan(opaque_shape("ts", None), maintain=PARTITIONS, trusted=True)
    assert "'grain'" in (caught.value.way_out or "")


def test_a_python_function_without_trust_is_not_believed() -> None:
    with pytest.raises(MaintenanceError):
        plan(opaque_shape("ts", HOUR), maintain=PARTITIONS)


def test_a_python_function_with_a_lookback_is_partitioned() -> None:
    assert plan(opaque_shape("ts", HOUR), lookback=60.0, trusted=True).maintain is PARTITIONS
