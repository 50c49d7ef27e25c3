"""Files with local times in, instants out: in all formats, whatever the clocks of the zone have done."""

from __future__ import annotations

import io
import json
import zoneinfo
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import orc

from freshtide.core.errors import ProjectError
from freshtide.feeds import local_times
from tests.examples import examples, slow_except
from tests.feeds.clocks import changes, instant_of
from tests.warehouse.shop import START, Shop

BERLIN = "Europe/Berlin"
GAP, TWICE = datetime(2026, 3, 29, 2, 30), datetime(2025, 10, 26, 2, 30)
# Half hours, a day that is left out, clocks that go back half an hour, war time, changes of the offset itself.
ZONES = (
    BERLIN,
    "America/New_York",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "Australia/Lord_Howe",
    "Europe/Lisbon",
    "America/Sao_Paulo",
)
CHANGES = {zone: list(changes(zone, 1890, 2037)) for zone in ZONES}

LOCAL = pa.timestamp("us")
Write = Callable[[Sequence[datetime]], tuple[str, bytes]]


def csv(times: Sequence[datetime]) -> tuple[str, bytes]:
    return "csv", "\n".join(["ts,v", *(f"{time.isoformat()},{place}" for place, time in enumerate(times))]).encode()


def json_lines(times: Sequence[datetime]) -> tuple[str, bytes]:
    rows = ({"ts": time.isoformat(sep=" "), "v": place} for place, time in enumerate(times))
    return "json", "\n".join(map(json.dumps, rows)).encode()


def columns(times: Sequence[datetime], kind: pa.DataType) -> pa.Table:
    return pa.table({"ts": pa.array(times, kind), "v": pa.array(range(len(times)), pa.int32())})


def parquet(times: Sequence[datetime], kind: pa.DataType = LOCAL) -> tuple[str, bytes]:
    sink = io.BytesIO()
    pq.write_table(columns(times, kind), sink)
    return "parquet", sink.getvalue()


def parquet_of_pandas(times: Sequence[datetime]) -> tuple[str, bytes]:
    return parquet(times, pa.timestamp("ns"))


def orc_file(times: Sequence[datetime]) -> tuple[str, bytes]:
    sink = io.BytesIO()
    orc.write_table(columns(times, LOCAL), sink)
    return "orc", sink.getvalue()


def avro(times: Sequence[datetime]) -> tuple[str, bytes]:
    time = {"type": "long", "logicalType": "local-timestamp-micros"}
    schema = {"type": "record", "name": "r", "fields": [{"name": "ts", "type": time}, {"name": "v", "type": "int"}]}
    sink = io.BytesIO()
    fastavro.writer(sink, schema, [{"ts": time, "v": place} for place, time in enumerate(times)])
    return "avro", sink.getvalue()


ALL: tuple[Write, ...] = (csv, json_lines, parquet, parquet_of_pandas, orc_file, avro)


def declare(shop: Shop, name: str, format_: str, **more: Any) -> None:
    given = {"schema": {"ts": "timestamp", "v": "int"}, "format": format_, "future_limit": "none"}
    shop.events(name, **{**given, **more})


def loaded(shop: Shop, name: str) -> dict[int, datetime]:
    return {row["v"]: row["ts"] for row in shop.rows(name)}


def newest(shop: Shop, name: str) -> datetime:
    found = shop.freshness(name)
    assert found is not None
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=round((found + START) * 1_000_000))


@pytest.mark.parametrize("write", slow_except(ALL, *ALL[:2]))
def test_times_without_an_offset_are_local_times_of_the_feeds_zone(shop: Shop, write: Write) -> None:
    times = [datetime(2026, 1, 15, 12), datetime(2025, 7, 15, 12), GAP, TWICE]
    format_, content = write(times)
    declare(shop, "a", format_, time_zone=BERLIN)
    shop.drop("a", f"1.{format_}", content)
    shop.load()
    assert loaded(shop, "a") == {
        0: datetime(2026, 1, 15, 11, tzinfo=UTC),
        1: datetime(2025, 7, 15, 10, tzinfo=UTC),
        # Half an hour after the clocks were put from two to three.
        2: datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
        # The first of the two, while it still was summer.
        3: datetime(2025, 10, 26, 0, 30, tzinfo=UTC),
    }
    assert newest(shop, "a") == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    shop.check()


def test_times_with_an_offset_keep_their_instants(shop: Shop) -> None:
    declare(shop, "a", "csv", time_zone=BERLIN)
    shop.drop("a", "1.csv", "ts,v\n2026-05-01T12:00:00Z,0\n2026-05-01T12:00:00+05:30,1\n2026-05-01T12:00:00,2\n")
    declare(shop, "b", "json", time_zone=BERLIN)
    shop.drop("b", "1.json", '{"ts": "2026-05-01T12:00:00-03:00", "v": 0}\n{"ts": "2026-05-01", "v": 1}\n')
    declare(shop, "c", "parquet", time_zone=BERLIN)
    shop.drop("c", "1.parquet", parquet([datetime(2026, 5, 1, 12)], pa.timestamp("us", tz="UTC"))[1])
    # Old writers store instants in 96 bits, and nothing says so.
    declare(shop, "d", "parquet", time_zone=BERLIN)
    sink = io.BytesIO()
    pq.write_table(columns([datetime(2026, 5, 1, 12)], pa.timestamp("ns")), sink, use_deprecated_int96_timestamps=True)
    shop.drop("d", "1.parquet", sink.getvalue())
    shop.load()
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert loaded(shop, "a") == {0: noon, 1: noon - timedelta(hours=5.5), 2: noon - timedelta(hours=2)}
    assert loaded(shop, "b") == {0: noon + timedelta(hours=3), 1: noon - timedelta(hours=14)}
    assert loaded(shop, "c") == loaded(shop, "d") == {0: noon}
    assert {newest(shop, name) for name in ("a", "c", "d")} == {noon}


@pytest.mark.parametrize(
    ("pattern", "written", "expected"),
    [
        ("dd.MM.yyyy HH:mm", "01.05.2026 12:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("yyyy-MM-dd HH:mm[XXX]", "2026-05-01 12:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("yyyy-MM-dd HH:mm[XXX]", "2026-05-01 12:00+05:00", datetime(2026, 5, 1, 7, tzinfo=UTC)),
        ("epoch_seconds", "1777636800", datetime(2026, 5, 1, 12, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize("format_", slow_except(["csv", "avro"], "csv"))
def test_times_in_a_format_of_their_own_are_local_unless_they_say_more(
    shop: Shop, format_: str, pattern: str, written: str, expected: datetime
) -> None:
    schema = {"ts": "string", "v": "int"}
    declare(shop, "a", format_, time_zone=BERLIN, time_format=pattern, schema=schema)
    content = f"ts,v\n{written},0\nnix,1\n".encode()
    if format_ == "avro":
        sink = io.BytesIO()
        fields = [{"name": "ts", "type": "string"}, {"name": "v", "type": "int"}]
        rows = [{"ts": written, "v": 0}, {"ts": "nix", "v": 1}]
        fastavro.writer(sink, {"type": "record", "name": "r", "fields": fields}, rows)
        content = sink.getvalue()
    shop.drop("a", f"1.{format_}", content)
    shop.load()
    assert loaded(shop, "a") == {0: expected}
    assert newest(shop, "a") == expected
    assert [row["reason"] for row in shop.rows("a__rejects")] == ["column 'ts': 'nix' is not a timestamp"]
    shop.check()


def test_all_times_of_a_row_are_local_and_dates_stay_dates(shop: Shop) -> None:
    inner = {"ts": "timestamp", "v": "int", "day": "date", "all": "struct<at: array<timestamp>, day: date>"}
    noon, day = datetime(2026, 5, 1, 12), datetime(2026, 5, 1).date()
    values = [{"ts": noon, "v": 0, "day": day, "all": {"at": [noon, GAP, None], "day": day}}]
    declare(shop, "a", "json", time_zone=BERLIN, schema=inner)
    shop.drop("a", "1.json", json.dumps(values[0], default=lambda value: value.isoformat()))
    table = pa.Table.from_pylist(values).set_column(1, "v", pa.array([0], pa.int32()))
    for format_, writer in (("parquet", pq.write_table), ("orc", orc.write_table)):
        declare(shop, format_, format_, time_zone=BERLIN, schema=inner)
        sink = io.BytesIO()
        writer(table, sink)
        shop.drop(format_, f"1.{format_}", sink.getvalue())
    shop.load()
    expected = {
        "ts": datetime(2026, 5, 1, 10, tzinfo=UTC),
        "v": 0,
        "day": day,
        "all": {
            "at": [datetime(2026, 5, 1, 10, tzinfo=UTC), datetime(2026, 3, 29, 1, 30, tzinfo=UTC), None],
            "day": day,
        },
    }
    for name in ("a", "parquet", "orc"):
        assert shop.rows(name) == [expected], name
    shop.check()


def test_a_local_time_just_before_the_jump_may_be_the_newest_of_a_file(shop: Shop) -> None:
    times = [datetime(2026, 3, 29, 2, 59), datetime(2026, 3, 29, 3, 10)]
    for write in ALL:
        format_, content = write(times)
        name = write.__name__
        declare(shop, name, format_, time_zone=BERLIN)
        shop.drop(name, f"1.{format_}", content)
    shop.load()
    for write in ALL:
        assert newest(shop, write.__name__) == datetime(2026, 3, 29, 1, 59, tzinfo=UTC), write.__name__


def test_names_of_files_and_punctuation_are_local_too(shop: Shop) -> None:
    declare(shop, "a", "csv", time_zone=BERLIN, timestamp={"name": "a_%Y%m%d%H%M.csv"})
    shop.drop("a", "a_202605011200.csv", "ts,v\n2026-05-01T11:00:00,0\n")
    declare(shop, "b", "csv", time_zone=BERLIN, punctuation="*.mark", path="landing/b/*.csv")
    shop.drop("b", "1.csv", "ts,v\n2026-05-01T11:00:00,0\n")
    shop.drop("b", "1.mark", "2026-05-01T11:30:00")
    shop.load()
    assert newest(shop, "a") == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert newest(shop, "b") == datetime(2026, 5, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
def misled(tmp_path: Path) -> Iterator[None]:
    """Python believes that the clocks of Auckland are those of Tokyo, and knows a place that Java does not."""
    (tokyo,) = [found for folder in zoneinfo.TZPATH if (found := Path(folder) / "Asia" / "Tokyo").exists()][:1]
    before, places = zoneinfo.TZPATH, tmp_path / "zones"
    for name in ("Pacific/Auckland", "Atlantic/Atlantis"):
        (places / name).parent.mkdir(parents=True)
        (places / name).write_bytes(tokyo.read_bytes())
    for path in ([str(places), *before], before):
        zoneinfo.reset_tzpath(path)
        zoneinfo.ZoneInfo.clear_cache()
        local_times.cache_clear()
        if path is not before:
            yield


@pytest.mark.usefixtures("misled")
@pytest.mark.parametrize("zone", ["Pacific/Auckland", "Atlantic/Atlantis"])
def test_a_zone_that_java_does_not_know_or_sees_otherwise_is_refused(shop: Shop, zone: str) -> None:
    declare(shop, "a", "csv", time_zone=zone)
    with pytest.raises(ProjectError) as refused:
        shop.load()
    (problem,) = refused.value.problems
    assert f"'{zone}'" in problem.message
    assert "Update" in str(problem.way_out)


@given(data=st.data(), zone=st.sampled_from(ZONES), write=st.sampled_from([csv, json_lines, parquet]))
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
def test_local_times_around_any_change_of_the_clocks_are_what_the_clocks_have_shown(
    tmp_path_factory: pytest.TempPathFactory, spark: Any, data: st.DataObject, zone: str, write: Write
) -> None:
    distances = st.timedeltas(timedelta(hours=-26), timedelta(hours=26))
    around = st.tuples(st.sampled_from(CHANGES[zone]), distances)
    times = [
        (change + distance).replace(tzinfo=None)
        for change, distance in data.draw(st.lists(around, min_size=1, max_size=40))
    ]
    shop = Shop(tmp_path_factory.mktemp("zones") / "shop", spark)
    format_, content = write(times)
    declare(shop, "a", format_, time_zone=zone)
    shop.drop("a", f"1.{format_}", content)
    shop.load()
    expected = {place: instant_of(time, zone) for place, time in enumerate(times)}
    assert loaded(shop, "a") == expected
    assert newest(shop, "a") == max(expected.values())
    assert shop.rows("a__rejects") == []
    shop.warehouse.close()


def test_another_zone_loads_a_table_anew_and_what_reads_it_too(shop: Shop) -> None:
    declare(shop, "a", "csv")
    shop.view("days", "SELECT CAST(ts AS DATE) AS day, count(*) AS n FROM a GROUP BY CAST(ts AS DATE)")
    shop.drop("a", "1.csv", "ts,v\n2026-05-01T01:00:00,0\nnix,1\n")
    shop.load()
    assert loaded(shop, "a") == {0: datetime(2026, 5, 1, 1, tzinfo=UTC)}
    zoned = shop.again()
    declare(zoned, "a", "csv", time_zone=BERLIN)
    zoned.view("days", "SELECT CAST(ts AS DATE) AS day, count(*) AS n FROM a GROUP BY CAST(ts AS DATE)")
    zoned.load()
    assert loaded(zoned, "a") == {0: datetime(2026, 4, 30, 23, tzinfo=UTC)}
    assert [(str(row["day"]), row["n"]) for row in zoned.rows("days")] == [("2026-04-30", 1)]
    assert len(zoned.rows("a__rejects")) == 1
    # By the new clocks; what the old ones have promised is revised.
    assert newest(zoned, "a") == datetime(2026, 4, 30, 23, tzinfo=UTC)
    zoned.drop("a", "2.csv", "ts,v\n2026-05-01T01:10:00,2\n")
    zoned.load()
    assert loaded(zoned, "a") == {place: datetime(2026, 4, 30, 23, 5 * place, tzinfo=UTC) for place in (0, 2)}
    assert zoned.rows("a__late") == []
    zoned.check()
    before = zoned.last_commit("a")
    same = zoned.again()
    declare(same, "a", "csv", time_zone=BERLIN)
    same.load()
    assert same.last_commit("a") == before
    same.warehouse.close()


def test_rows_by_another_zone_are_not_added_to_a_table_that_cannot_be_loaded_anew(shop: Shop) -> None:
    declare(shop, "a", "csv")
    lost = shop.drop("a", "1.csv", "ts,v\n2026-05-01T01:00:00,0\n")
    shop.load()
    lost.unlink()
    zoned = shop.again()
    declare(zoned, "a", "csv", time_zone=BERLIN)
    zoned.drop("a", "2.csv", "ts,v\n2026-05-01T02:00:00,1\n")
    told = str(zoned.warehouse.run_once().failed["a"])
    assert "another time zone" in told
    assert loaded(zoned, "a") == {0: datetime(2026, 5, 1, 1, tzinfo=UTC)}
    zoned.warehouse.close()
