"""Data of TPC-H: generated once, whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from freshtide.core.errors import UsageError
from freshtide.spark.experiments import NoDataError, tpch_data


def test_all_tables_are_there_in_their_proportions(tmp_path: Path) -> None:
    folder = tpch_data(0.001, cache=tmp_path)
    rows = {path.stem: pq.read_metadata(path).num_rows for path in folder.glob("*.parquet")}
    assert sorted(rows) == ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
    # Section 4.2.5 of the TPC-H specification, at a thousandth.
    assert (rows["orders"], rows["partsupp"], rows["nation"]) == (1_500, 800, 25)


def test_what_has_been_generated_is_kept_for_the_next_time(tmp_path: Path) -> None:
    first = tpch_data(0.001, cache=tmp_path)
    (first / "mark").touch()
    assert tpch_data(0.001, cache=tmp_path) == first
    assert (first / "mark").exists()
    assert [each.name for each in tmp_path.iterdir()] == [first.name]


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_factor_that_is_none_is_refused(tmp_path: Path, scale: float) -> None:
    with pytest.raises(UsageError, match="is no scale factor"):
        tpch_data(scale, cache=tmp_path)


def test_without_the_generator_it_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(NoDataError) as caught:
        tpch_data(0.001, cache=tmp_path)
    assert "freshtide[tpch]" in (caught.value.way_out or "")


def test_a_generator_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = tmp_path / "bin" / "tpchgen-cli"
    generator.parent.mkdir()
    generator.write_text("#!/bin/sh\necho 'no room' >&2\nexit 3\n")
    generator.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(generator.with_name("python")))
    with pytest.raises(NoDataError, match=r"failed at scale factor 0\.001: no room"):
        tpch_data(0.001, cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
