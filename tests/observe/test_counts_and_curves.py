from __future__ import annotations

import pytest

from freshtide.core.arrivals import ArrivalState
from freshtide.observe import count_rows, staleness_curves

from .shop import NOON, Shop


def test_every_row_that_arrived_is_somewhere(shop: Shop) -> None:
    files = [shop.arrives("orders", f"/in/{rows}", 0.0, rows=rows) for rows in (10, 20, 30)]
    shop.arrives("orders", "/in/torn", 0.0, rows=99, state=ArrivalState.QUARANTINED)
    shop.catalog.arrivals.mark_loaded("orders", [file.id for file in files[:2]], 1)
    shop.is_fresh("orders", 0.0, counts={"read": 30, "loaded": 22, "rejected": 3, "late": 1})
    shop.stores("orders", 22)
    shop.stores("orders__rejects", 3)
    shop.stores("orders__late", 1)
    (count,) = count_rows(shop.project, shop.catalog, shop.store, ("orders", "sales"))
    assert (count.table, count.files, count.arrived) == ("orders", 2, 30)
    assert (count.in_table, count.in_rejects, count.in_late, count.filtered) == (22, 3, 1, 4)
    assert count.unaccounted == 0


def test_a_row_that_is_missing_from_the_table_is_unaccounted_for(shop: Shop) -> None:
    file = shop.arrives("orders", "/in/1", 0.0, rows=10)
    shop.catalog.arrivals.mark_loaded("orders", [file.id], 1)
    shop.is_fresh("orders", 0.0, counts={"read": 10, "loaded": 10})
    shop.stores("orders", 9)
    (count,) = count_rows(shop.project, shop.catalog, shop.store, ("orders",))
    assert count.unaccounted == 1


def test_a_row_that_is_there_twice_is_noticed_as_well(shop: Shop) -> None:
    file = shop.arrives("orders", "/in/1", 0.0, rows=10)
    shop.catalog.arrivals.mark_loaded("orders", [file.id], 1)
    shop.is_fresh("orders", 0.0, counts={"read": 10, "loaded": 10})
    shop.stores("orders", 10)
    shop.stores("orders", 1)
    (count,) = count_rows(shop.project, shop.catalog, shop.store, ("orders",))
    assert count.unaccounted == -1


@pytest.mark.parametrize(
    ("counts", "rejects", "fault"),
    [
        ({"read": 10, "loaded": 9}, 0, "1 rows were left out, and the query leaves none out"),
        ({"read": 10, "loaded": 9, "rejected": 2}, 2, "1 rows more than were given to the query came out of it"),
        ({"read": 9, "loaded": 9}, 0, "10 rows arrived, and 9 are read by Spark"),
        ({"read": 10, "loaded": 8, "rejected": 2}, 1, "2 rows rejected, and 1 are among the rejects"),
    ],
)
def test_a_number_that_cannot_be_is_told(shop: Shop, counts: dict[str, int], rejects: int, fault: str) -> None:
    file = shop.arrives("orders", "/in/1", 0.0, rows=10)
    shop.catalog.arrivals.mark_loaded("orders", [file.id], 1)
    shop.is_fresh("orders", 0.0, counts=counts)
    shop.stores("orders", 9)
    if rejects:
        shop.stores("orders__rejects", rejects)
    (count,) = count_rows(shop.project, shop.catalog, shop.store, ("orders",))
    assert fault in count.faults


def test_a_table_that_was_never_loaded_counts_nothing(shop: Shop) -> None:
    shop.arrives("clicks", "/in/1", 0.0, rows=10)
    (count,) = count_rows(shop.project, shop.catalog, shop.store, ("clicks",))
    assert (count.files, count.arrived, count.in_table, count.unaccounted) == (0, 0, 0, 0)


def test_a_curve_is_that_of_figure_2(shop: Shop) -> None:
    """Golab et al. 2011, figure 2, seen from the first update on: staleness 2 at 5, 8 and then 2 at 11."""
    shop.ran("orders", since=4.0, until=5.0, freshness=3.0)
    shop.ran("orders", since=9.0, until=11.0, freshness=9.0)
    curve = staleness_curves(shop.catalog, since=NOON, until=NOON + 13.0)["orders"]
    assert curve.updates == 2
    assert (curve.maximum, curve.final) == pytest.approx((8.0, 4.0))
    assert curve.mean == pytest.approx((6 * (2 + 8) / 2 + 2 * (2 + 4) / 2) / 8)


def test_each_table_has_its_own_curve_and_none_without_an_update(shop: Shop) -> None:
    shop.ran("orders", since=0.0, until=5.0, freshness=3.0)
    shop.ran("clicks", since=0.0, until=8.0, freshness=1.0)
    curves = staleness_curves(shop.catalog, since=NOON, until=NOON + 8.0)
    assert {name: curve.final for name, curve in curves.items()} == {
        "orders": pytest.approx(5.0),
        "clicks": pytest.approx(7.0),
    }
    assert curves["clicks"].mean == pytest.approx(7.0)


def test_what_lies_outside_of_the_stretch_does_not_count(shop: Shop) -> None:
    shop.ran("orders", since=0.0, until=5.0, freshness=3.0)
    shop.ran("orders", since=10.0, until=15.0, freshness=13.0)
    shop.ran("orders", since=20.0, until=25.0, freshness=23.0)
    shop.catalog.updates.fail(shop.runs("orders", since=15.0), at=NOON + 16.0, error="no")
    curve = staleness_curves(shop.catalog, since=NOON + 6.0, until=NOON + 18.0)["orders"]
    assert curve.updates == 1
    assert (curve.final, curve.maximum) == pytest.approx((5.0, 5.0))


def test_an_update_that_loaded_no_time_has_no_point_on_the_curve(shop: Shop) -> None:
    shop.catalog.updates.finish(shop.runs("orders", since=0.0), at=NOON + 1.0, freshness=None, rows=5)
    assert staleness_curves(shop.catalog, since=NOON, until=NOON + 9.0) == {}
