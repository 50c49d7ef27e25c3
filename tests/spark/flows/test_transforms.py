"""Every kind of activity does what the same query says, for whole inputs; packs are tested with the policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from freshtide.flows import Activity
from freshtide.flows.activities import (
    Aggregate,
    Deduplicate,
    Difference,
    Expression,
    Filter,
    Function,
    Join,
    NotNull,
    Pivot,
    Router,
    Sort,
    SortedUnion,
    SurrogateKey,
    Union,
)
from freshtide.spark import DataFrame, SparkSession
from freshtide.spark.flows.moments import ANY_MOMENT
from freshtide.spark.flows.transforms import FunctionError, transform

from .flowbench import node

_ORDERS = "VALUES (1, 'a', 10.0), (2, 'b', NULL), (3, 'a', 30.0), (3, 'a', 30.0), (4, NULL, 5.0) AS t(id, shop, price)"
_SHOPS = "VALUES ('a', 'Athens'), ('c', 'Corfu'), (NULL, 'nowhere') AS t(shop, city)"
_MORE = "VALUES (5.5, 9, 'c'), (NULL, 3, 'a') AS t(price, id, shop)"

_CASES: dict[str, tuple[Activity, tuple[str, ...], Mapping[str, str]]] = {
    "filter": (Filter(condition="price > 5"), (_ORDERS,), {"out": "SELECT * FROM a WHERE price > 5"}),
    "not null": (
        NotNull(columns=("shop", "price")),
        (_ORDERS,),
        {
            "out": "SELECT * FROM a WHERE shop IS NOT NULL AND price IS NOT NULL",
            "quarantine": "SELECT * FROM a WHERE shop IS NULL OR price IS NULL",
        },
    ),
    "expression that replaces and adds": (
        Expression(columns={"Price": "price * 2", "label": "upper(shop)"}),
        (_ORDERS,),
        {"out": "SELECT id, shop, price * 2, upper(shop) FROM a"},
    ),
    "expression alone": (
        Expression(columns={"label": "upper(shop)"}, only=True),
        (_ORDERS,),
        {"out": "SELECT upper(shop) FROM a"},
    ),
    "function": (
        Function(function=lambda frame: frame.where("id = 1"), name="first"),
        (_ORDERS,),
        {"out": "SELECT * FROM a WHERE id = 1"},
    ),
    "surrogate key": (
        SurrogateKey(key=("shop",), column="number", lookup="shops"),
        (_ORDERS,),
        {"out": "SELECT CASE shop WHEN 'a' THEN 7 WHEN 'b' THEN 8 END, id, price FROM a"},
    ),
    "inner hash join": (Join(on=("shop",)), (_ORDERS, _SHOPS), {"out": "SELECT * FROM a JOIN b USING (shop)"}),
    "left sort-merge join": (
        Join(on=("shop",), how="left", method="sort-merge"),
        (_ORDERS, _SHOPS),
        {"out": "SELECT * FROM a LEFT JOIN b USING (shop)"},
    ),
    "full join": (
        Join(on=("shop",), how="full"),
        (_ORDERS, _SHOPS),
        {"out": "SELECT * FROM a FULL JOIN b USING (shop)"},
    ),
    "right join": (
        Join(on=("shop",), how="right"),
        (_ORDERS, _SHOPS),
        {"out": "SELECT * FROM a RIGHT JOIN b USING (shop)"},
    ),
    "semi join": (
        Join(on=("shop",), how="semi"),
        (_ORDERS, _SHOPS),
        {"out": "SELECT * FROM a LEFT SEMI JOIN b USING (shop)"},
    ),
    "anti join": (
        Join(on=("shop",), how="anti"),
        (_ORDERS, _SHOPS),
        {"out": "SELECT * FROM a LEFT ANTI JOIN b USING (shop)"},
    ),
    "union by name": (
        Union(),
        (_ORDERS, _MORE),
        {"out": "SELECT * FROM a UNION ALL SELECT id, shop, price FROM b"},
    ),
    "sorted union": (
        SortedUnion(by=("id DESC", "shop")),
        (_ORDERS, _MORE),
        {"out": "SELECT * FROM (SELECT * FROM a UNION ALL SELECT id, shop, price FROM b) ORDER BY id DESC, shop"},
    ),
    "difference, where NULL is a key": (
        Difference(on=("shop",)),
        (_ORDERS, _SHOPS),
        {"out": "SELECT * FROM a WHERE shop = 'b'"},
    ),
    "deduplicate whole rows": (Deduplicate(), (_ORDERS,), {"out": "SELECT DISTINCT * FROM a"}),
    "deduplicate by a key": (
        Deduplicate(key=("shop",), order=("price DESC NULLS LAST",)),
        (_ORDERS,),
        {"out": "VALUES (3, 'a', 30.0), (2, 'b', NULL), (4, NULL, 5.0)"},
    ),
    "sort": (
        Sort(by=("price DESC NULLS FIRST", "id")),
        (_ORDERS,),
        {"out": "SELECT * FROM a ORDER BY price DESC NULLS FIRST, id"},
    ),
    "aggregate": (
        Aggregate(by=("shop",), columns={"total": "sum(price)", "n": "count(*)"}),
        (_ORDERS,),
        {"out": "SELECT shop, sum(price), count(*) FROM a GROUP BY shop"},
    ),
    "aggregate of everything": (
        Aggregate(by=(), columns={"n": "count(*)"}),
        (_ORDERS,),
        {"out": "SELECT count(*) FROM a"},
    ),
    "pivot": (
        Pivot(by=("id",), column="shop", values=("a", "b"), columns={"total": "sum(price)"}),
        (_ORDERS,),
        {"out": "SELECT id, sum(if(shop = 'a', price, NULL)), sum(if(shop = 'b', price, NULL)) FROM a GROUP BY id"},
    ),
    "router": (
        Router(routes={"dear": "price >= 30", "cheap": "price < 10"}),
        (_ORDERS,),
        {
            "dear": "SELECT * FROM a WHERE price >= 30",
            "cheap": "SELECT * FROM a WHERE price < 10",
            "otherwise": "SELECT * FROM a WHERE price IS NULL OR price >= 10 AND price < 30",
        },
    ),
}


@pytest.mark.parametrize("case", list(_CASES))
def test_an_activity_gives_the_rows_of_the_query_it_stands_for(spark: SparkSession, case: str) -> None:
    activity, sources, queries = _CASES[case]
    inputs = [spark.sql(f"SELECT * FROM {source}") for source in sources]
    for name, frame in zip("ab", inputs, strict=False):
        frame.createOrReplaceTempView(name)
    lookup = spark.sql("SELECT * FROM VALUES ('a', 7L), ('b', 8L), ('z', 9L) AS t(shop, number)")
    results = transform(node("it", activity, *"ab"[: len(inputs)]), inputs, moment=ANY_MOMENT, lookup=lookup)
    assert set(results) == set(activity.ports)
    for port, query in queries.items():
        found, wanted = _rows(results[port]), _rows(spark.sql(query))
        assert Counter(found) == Counter(wanted)
        if isinstance(activity, Sort | SortedUnion):
            assert found == wanted


def test_a_row_that_two_routes_want_is_an_error_that_shows_it(spark: SparkSession) -> None:
    router = Router(routes={"dear": "price > 20", "odd": "id % 2 = 1"})
    results = transform(node("by price", router, "orders"), [spark.sql(f"SELECT * FROM {_ORDERS}")], moment=ANY_MOMENT)
    with pytest.raises(Exception, match="by price") as failure:
        results["odd"].collect()
    told = str(failure.value)
    assert "'dear' and 'odd'" in told
    assert '"id":3' in told


def test_a_function_that_returns_no_rows_to_go_on_with_is_named(spark: SparkSession) -> None:
    frame = spark.sql(f"SELECT * FROM {_ORDERS}")
    with pytest.raises(FunctionError, match=r"count_them\(\) of activity 'it' returned int"):
        transform(
            node("it", Function(function=lambda rows: rows.count(), name="count_them"), "a"), [frame], moment=ANY_MOMENT
        )
    with pytest.raises(FunctionError, match=r"broken\(\) of activity 'it' failed: ZeroDivisionError"):
        transform(node("it", Function(function=lambda _: 1 / 0, name="broken"), "a"), [frame], moment=ANY_MOMENT)


def _rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.collect()]
