"""CSV is what RFC 4180 says, to all that parse it: the inspection, Spark over lines and over files, the rejects."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from freshtide.spark import SparkSession
from tests.warehouse.shop import EVENTS, Shop, stamp

VALUES = ['To X; "ATL"', 'a, "b", c', '"', '""', "back\\slash", 'back\\"slash', "\\", "plain", "it's", " spaced "]


def written(values: list[str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(EVENTS)
    for place, value in enumerate(values):
        writer.writerow((stamp(place), value, place))
    return out.getvalue()


@pytest.mark.parametrize("way", ["lines", "files", "large", "multiline"])
def test_what_a_csv_writer_writes_is_what_is_read(tmp_path: Path, spark: SparkSession, way: str) -> None:
    shop = Shop(tmp_path / "shop", spark, **({"large_update": "10B"} if way == "large" else {}))
    shop.events("a", multiline=way == "multiline")
    text = written(VALUES)
    if way == "files":
        text += f'"{stamp(99)}","padding","99"\n' * 9_000
    wrong = f'"{stamp(98)}","say ""no"", please","many"'
    shop.drop("a", "1.csv", f"{text}{wrong}\n")
    shop.load()
    found = {row["v"]: row["k"] for row in shop.rows("a") if row["v"] != 99}
    assert found == dict(enumerate(VALUES))
    assert [row["reason"] for row in shop.rows("a__rejects")] == ["column 'v': 'many' is not a int"]
    assert shop.freshness("a") == (99 if way == "files" else 98)
    shop.check()
    shop.warehouse.close()


def test_a_backslash_is_an_escape_where_the_feed_says_so(shop: Shop) -> None:
    shop.events("a", escape="\\")
    shop.drop("a", "1.csv", f'ts,k,v\n{stamp(1)},"say \\"no\\"",1\n')
    shop.load()
    assert [row["k"] for row in shop.rows("a")] == ['say "no"']
    shop.check()
