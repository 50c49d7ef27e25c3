"""What a table is partitioned by is read as it was written, by Freshtide's Spark and by others."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from freshtide.core.errors import ProjectError
from freshtide.spark import SparkSession
from tests.examples import examples, slow_except
from tests.warehouse.shop import START, Shop, stamp

ODD_TEXTS = [
    "é日本😀",
    "e\u0301",
    "a/b=c%20d",
    "%C3%A9",
    "trailing ",
    " ",
    "..",
    "null",
    "line\nline\r\t",
    "\x01\x7f\x80\u202e",
    "\"#'*:?\\{}[]^<>|~!$&()+,;@`",
    "x" * 250,
]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "string": (pa.string(), ODD_TEXTS),
    "double": (pa.float64(), [math.nan, -0.0, math.inf, -math.inf, 1e300, 0.1, 5e-324]),
    "float": (pa.float32(), [0.10000000149011612, math.nan, -math.inf]),
    "boolean": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [date(1, 1, 1), date(2026, 5, 1), date(9999, 12, 31)]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(1600, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
            datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        ],
    ),
    "decimal(20,10)": (
        pa.decimal128(20, 10),
        [Decimal("0E-10"), Decimal("1E-10"), Decimal("-5.5000000000"), Decimal("9999999999.9999999999")],
    ),
    "tinyint": (pa.int8(), [-128, 127]),
    "bigint": (pa.int64(), [-(2**63), 2**63 - 1]),
}


class Partitioned:
    """A table that is partitioned by columns of these types, and a view of it."""

    def __init__(self, folder: Path, spark: SparkSession, kinds: Mapping[str, pa.DataType], *, large: bool) -> None:
        self.shop = Shop(folder, spark, retry={"attempts": 1}, **({"large_update": "10B"} if large else {}))
        self._columns = {f"k{place}": kind for place, kind in enumerate(kinds.values())}
        names = ", ".join(self._columns)
        self.shop.warehouse.feed(
            "f",
            path="landing/f/*",
            format="parquet",
            schema={"ts": "timestamp", "v": "int", **dict(zip(self._columns, kinds, strict=True))},
            time_column="ts",
            settle="renamed",
        )
        self.shop.warehouse.sql(f"CREATE STREAMING TABLE t PARTITIONED BY ({names}) AS SELECT * FROM STREAM f")
        self.shop.view("seen", "SELECT * FROM t", maintain="full")

    def load(self, rows: Sequence[Sequence[Any]]) -> None:
        parts = zip(*rows, strict=True)
        columns = {name: pa.array(part, kind) for (name, kind), part in zip(self._columns.items(), parts, strict=True)}
        times = pa.array([START * 10**6] * len(rows), pa.timestamp("us", "UTC"))
        table = pa.table({"ts": times, "v": pa.array(range(len(rows)), pa.int32()), **columns})
        sink = io.BytesIO()
        pq.write_table(table, sink)
        self.shop.drop("f", "1.parquet", sink.getvalue())
        self.shop.load()

    def read(self, table: str) -> list[list[Any]]:
        """Out of the table as Delta's own reader finds them, or out of the view as Spark has found them."""
        rows = sorted(self.shop.rows(table), key=lambda row: row["v"])
        return [[plain(row[name]) for name in self._columns] for row in rows]


def plain(value: Any) -> Any:
    """Equal where values are the same, also of what is no number."""
    return repr(value) if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("large", [False, True])
def test_values_of_partition_columns_are_read_as_they_were_written(
    tmp_path: Path, spark: SparkSession, large: bool
) -> None:
    held = Partitioned(tmp_path / "shop", spark, {name: kind for name, (kind, _) in VALUES.items()}, large=large)
    rows = list(zip_longest(*(values for _, values in VALUES.values())))
    held.load([*rows, [None] * len(VALUES)])
    written = [[plain(value) for value in row] for row in [*rows, [None] * len(VALUES)]]
    assert held.read("t") == written
    assert held.read("seen") == written
    held.shop.check()
    held.shop.warehouse.close()


# All that UTF-8 has. What no partition can have is told apart below.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
ASCII = ["".join(map(chr, range(max(low, 1), low + 16))) for low in range(0, 256, 16)]


@settings(
    max_examples=examples(3),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(large=st.booleans(), texts=st.lists(TEXTS, min_size=5, max_size=15))
@example(large=False, texts=ASCII)
def test_any_text_can_be_the_value_of_a_partition(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, large: bool, texts: list[str]
) -> None:
    held = Partitioned(tmp_path_factory.mktemp("texts") / "shop", spark, {"string": pa.string()}, large=large)
    held.load([[text] for text in texts])
    assert held.read("t") == held.read("seen") == [[text] for text in texts]
    held.shop.warehouse.close()


@pytest.mark.parametrize("large", slow_except([False, True], False))
@pytest.mark.parametrize("computed", [False, True])
def test_texts_that_would_be_taken_for_none_are_rejected(
    tmp_path: Path, spark: SparkSession, large: bool, computed: bool
) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 1}, **({"large_update": "10B"} if large else {}))
    shop.warehouse.feed(
        "f",
        path="landing/f/*",
        format="json",
        schema={"ts": "timestamp", "k": "string", "v": "int"},
        time_column="ts",
        settle="renamed",
    )
    selected = "ts, concat(k, '') AS k, v" if computed else "*"
    shop.warehouse.sql(f"CREATE STREAMING TABLE t PARTITIONED BY (k) AS SELECT {selected} FROM STREAM f")
    texts = ["", "__HIVE_DEFAULT_PARTITION__", "a\0b", "x" * 300, "é", None]
    lines = [json.dumps({"ts": stamp(place), "k": text, "v": place}) for place, text in enumerate(texts)]
    shop.drop("f", "1.json", "\n".join(lines))
    shop.load()
    assert {row["v"]: row["k"] for row in shop.rows("t")} == {4: "é", 5: None}
    rejects = shop.rows("t__rejects")
    assert sorted(json.loads(row["content"])["v"] for row in rejects) == [0, 1, 2, 3]
    assert sum("cannot be told from a missing value" in row["reason"] for row in rejects) == 2
    assert all(row["file"].endswith("landing/f/1.json") for row in rejects)
    shop.check()
    shop.warehouse.close()


def test_a_column_that_no_folder_can_be_named_after_is_refused(shop: Shop) -> None:
    schema = {"ts": "timestamp", "k": "binary", "v": "array<int>"}
    shop.warehouse.feed("f", path="landing/f/*", format="json", schema=schema, time_column="ts")
    shop.warehouse.sql("CREATE STREAMING TABLE t PARTITIONED BY (k) AS SELECT * FROM STREAM f")
    shop.warehouse.sql("CREATE STREAMING TABLE u PARTITIONED BY (v) AS SELECT * FROM STREAM f")
    with pytest.raises(ProjectError) as told:
        shop.warehouse.run_once()
    problems = [problem.message for problem in told.value.problems]
    assert len(problems) == 2
    assert "partitioned by 'k', a binary" in problems[0]
