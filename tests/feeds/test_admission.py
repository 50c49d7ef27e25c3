from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.feeds import Duplicates, Format, SchemaChange
from freshtide.feeds import NotQuarantinedError, OtherContentError, VanishedFileError, admit, retry
from freshtide.feeds.formats import CsvFormat, JsonFormat, ParquetFormat

from .samples import NOW, MemoryLedger, make_feed, put, settled

HEADER = "time,host,load\n"
CSV = HEADER + "2024-05-01,a,1\n"


def admitted(ledger: MemoryLedger, path: Path, **feed: Any) -> Arrival:
    file = admit(make_feed(**feed), settled(path), ledger, NOW)
    assert file is not None
    ledger.register([file])
    return file


def test_a_new_file_is_ready(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", CSV)
    file = admitted(MemoryLedger(), path)
    assert file.state is ArrivalState.READY
    assert (file.feed, file.position, file.rows, file.arrived_at, file.reason) == ("cpu", str(path), 1, NOW, None)


def test_a_known_file_that_was_only_touched_is_what_it_was(tmp_path: Path) -> None:
    ledger, path = MemoryLedger(), put(tmp_path / "a.csv", CSV)
    known = admitted(ledger, path)
    put(path, CSV, at=NOW)
    assert admit(make_feed(), settled(path), ledger, NOW) == replace(known, modified_ns=path.stat().st_mtime_ns)


def test_a_known_name_with_other_content_is_refused_with_the_way_out(tmp_path: Path) -> None:
    ledger, path = MemoryLedger(), put(tmp_path / "a.csv", CSV)
    known = admitted(ledger, path)
    put(path, CSV + "2024-05-02,a,1\n")
    refused = admitted(ledger, path)
    assert refused.state is ArrivalState.REFUSED
    assert refused.reason is not None
    assert "freshtide feeds accept" in refused.reason
    put(path, CSV)
    assert admit(make_feed(), settled(path), ledger, NOW) == known, "it is again what was registered"


def test_a_known_name_that_becomes_unreadable_is_refused_too(tmp_path: Path) -> None:
    ledger, path = MemoryLedger(), put(tmp_path / "a.csv", CSV)
    admitted(ledger, path)
    assert admitted(ledger, put(path, b"\xff")).state is ArrivalState.REFUSED


def test_the_same_content_under_another_name_is_a_duplicate(tmp_path: Path) -> None:
    ledger = MemoryLedger()
    admitted(ledger, put(tmp_path / "a.csv", CSV))
    second = put(tmp_path / "b.csv", CSV)
    assert admitted(MemoryLedger(ledger.files), second).state is ArrivalState.DUPLICATE
    assert admitted(ledger, second, duplicates=Duplicates.LOAD).state is ArrivalState.READY


def test_a_header_only_file_counts_each_time(tmp_path: Path) -> None:
    ledger = MemoryLedger()
    states = [admitted(ledger, put(tmp_path / name, HEADER)).state for name in ("a.csv", "b.csv")]
    assert states == [ArrivalState.READY, ArrivalState.READY]


def test_an_unreadable_file_is_quarantined_until_it_changes(tmp_path: Path) -> None:
    ledger, path = MemoryLedger(), put(tmp_path / "a.csv", b"time\n\xff")
    file = admitted(ledger, path)
    assert file.state is ArrivalState.QUARANTINED
    assert "not valid utf-8" in (file.reason or "")
    assert admit(make_feed(), settled(path), ledger, NOW) == file
    assert admitted(ledger, put(path, CSV)).state is ArrivalState.READY


def test_mended_content_is_not_taken_where_a_table_has_loaded_what_was_there_before(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", CSV)
    loaded = admitted(MemoryLedger(), path)
    ledger = MemoryLedger([replace(loaded, state=ArrivalState.QUARANTINED)])
    ledger.loaded.add(str(path))
    assert retry(make_feed(), str(path), ledger, NOW) == loaded, "it is what was loaded"
    put(path, CSV + "2024-05-02,a,1\n")
    with pytest.raises(OtherContentError, match="freshtide feeds accept"):
        retry(make_feed(), str(path), ledger, NOW)
    assert admitted(ledger, path).state is ArrivalState.REFUSED


def test_a_file_that_vanished_before_it_was_read_is_nothing(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", CSV)
    gone = settled(path)
    path.unlink()
    assert admit(make_feed(), gone, MemoryLedger(), NOW) is None


FORMATS = (CsvFormat, JsonFormat, ParquetFormat)


def put_table(folder: Path, file_format: type[Format], columns: tuple[str, ...]) -> Path:
    path = folder / f"a.{file_format}"
    if file_format is CsvFormat:
        return put(path, ",".join(columns) + "\n" + ",".join("1" for _ in columns))
    if file_format is JsonFormat:
        return put(path, "{" + ",".join(f'"{name}": 1' for name in columns) + "}")
    pq.write_table(pa.table({name: [1] for name in columns}), path)
    return path


@pytest.mark.parametrize("file_format", FORMATS)
def test_added_columns_are_quarantined_unless_the_feed_evolves(tmp_path: Path, file_format: type[Format]) -> None:
    path = put_table(tmp_path, file_format, ("load", "time", "host", "extra"))
    file = admitted(MemoryLedger(), path, format=file_format)
    assert file.state is ArrivalState.QUARANTINED
    assert "adds 'extra'" in (file.reason or "")
    assert "on_schema_change: evolve" in (file.reason or "")
    evolving = admitted(MemoryLedger(), path, format=file_format, on_schema_change=SchemaChange.EVOLVE)
    assert evolving.state is ArrivalState.READY


@pytest.mark.parametrize("file_format", FORMATS)
def test_missing_columns_are_quarantined_but_json_keys_may_be_absent(tmp_path: Path, file_format: type[Format]) -> None:
    path = put_table(tmp_path, file_format, ("time", "host"))
    file = admitted(MemoryLedger(), path, format=file_format)
    if file_format is JsonFormat:
        assert file.state is ArrivalState.READY
    else:
        assert file.state is ArrivalState.QUARANTINED
        assert "lacks 'load'" in (file.reason or "")


@pytest.mark.parametrize("file_format", [CsvFormat, ParquetFormat])
def test_a_file_without_its_time_column_is_quarantined_even_if_the_feed_evolves(
    tmp_path: Path, file_format: type[Format]
) -> None:
    path = put_table(tmp_path, file_format, ("host", "load"))
    file = admitted(MemoryLedger(), path, format=file_format, on_schema_change=SchemaChange.EVOLVE)
    assert file.state is ArrivalState.QUARANTINED
    assert "time column 'time'" in (file.reason or "")


def test_other_orders_of_columns_are_fine_and_doubled_names_are_not(tmp_path: Path) -> None:
    evolve = SchemaChange.EVOLVE
    reordered = put_table(tmp_path, CsvFormat, ("load", "host", "time"))
    assert admitted(MemoryLedger(), reordered).state is ArrivalState.READY
    doubled = put_table(tmp_path, CsvFormat, ("time", "host", "load", "host"))
    file = admitted(MemoryLedger(), doubled, on_schema_change=evolve)
    assert file.state is ArrivalState.QUARANTINED
    assert "twice: 'host'" in (file.reason or "")


def test_a_retried_file_is_judged_by_the_feed_as_it_is_now(tmp_path: Path) -> None:
    ledger = MemoryLedger()
    path = put_table(tmp_path, CsvFormat, ("time", "host", "load", "extra"))
    admitted(ledger, path)
    feed = make_feed()
    assert retry(feed, str(path), ledger, NOW).state is ArrivalState.QUARANTINED
    evolving = replace(feed, on_schema_change=SchemaChange.EVOLVE)
    ledger.register([retry(evolving, str(path), ledger, NOW)])
    assert ledger.files[-1].state is ArrivalState.READY
    with pytest.raises(NotQuarantinedError, match="is ready"):
        retry(evolving, str(path), ledger, NOW)
    with pytest.raises(NotQuarantinedError, match="not known"):
        retry(evolving, "/nowhere.csv", ledger, NOW)


def test_a_retried_file_must_still_be_there(tmp_path: Path) -> None:
    ledger, path = MemoryLedger(), put(tmp_path / "a.csv", b"\xff")
    admitted(ledger, path)
    path.unlink()
    with pytest.raises(VanishedFileError):
        retry(make_feed(), str(path), ledger, NOW)


@pytest.mark.parametrize("glob", ["*.punct", "landing/*.punct", "land*/**/*.punct"])
def test_a_retried_punctuation_file_is_still_punctuation(tmp_path: Path, glob: str) -> None:
    feed = make_feed(punctuation=glob)
    ledger, path = MemoryLedger(), put(tmp_path / "landing/1.punct", "soon")
    file = admit(feed, settled(path, is_punctuation=True), ledger, NOW)
    assert file is not None
    assert file.state is ArrivalState.QUARANTINED
    ledger.register([file])
    put(path, "2024-05-01")
    assert retry(feed, str(path), ledger, NOW).state is ArrivalState.PUNCTUATION
