"""Files of ticks: numbered rows, keys by Zipf, the same for all who are compared."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import pytest
from bench.ticks import land, write_ticks, zipf_keys


def test_the_share_of_a_key_falls_with_its_rank() -> None:
    counts = Counter(zipf_keys(20_000, keys=50, theta=1.0, rng=random.Random(1)))
    first, second, tenth = (counts[f"key-{rank:05d}"] for rank in (0, 1, 9))
    assert first / second == pytest.approx(2.0, rel=0.15)
    assert first / tenth == pytest.approx(10.0, rel=0.15)


def test_rows_are_numbered_across_files_and_younger_the_larger_their_number(tmp_path: Path) -> None:
    keys = ["a", "b", "a", "c", "a"]
    files = write_ticks(tmp_path, keys, per_file=2, first=10, rng=random.Random(1))
    rows = [row for file in files for row in csv.DictReader(file.path.read_text().splitlines())]
    assert [row["k"] for row in rows] == keys == [key for file in files for key in file.keys]
    assert [int(row["seq"]) for row in rows] == [10, 11, 12, 13, 14]
    stamps = [row["ts"] for row in rows]
    assert stamps == sorted(set(stamps))


def test_what_lands_is_the_same_for_all(tmp_path: Path) -> None:
    files = write_ticks(tmp_path / "ticks", ["a", "b", "c"], per_file=2, first=0, rng=random.Random(1))
    landed = {}
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        arrivals = land(files, tmp_path / name, period=0.0, check=lambda: None)
        assert [list(arrival.keys) for arrival in arrivals] == [["a", "b"], ["c"]]
        assert arrivals[0].at <= arrivals[1].at
        landed[name] = {path.name: path.read_text() for path in (tmp_path / name).iterdir()}
    assert landed["one"] == landed["other"]
    assert len(landed["one"]) == len(files)


def test_nothing_more_lands_once_the_reader_has_failed(tmp_path: Path) -> None:
    files = write_ticks(tmp_path / "ticks", ["a", "b"], per_file=1, first=0, rng=random.Random(1))
    (tmp_path / "landing").mkdir()

    def check() -> None:
        if any((tmp_path / "landing").iterdir()):
            raise RuntimeError("it has failed")

    with pytest.raises(RuntimeError, match="it has failed"):
        land(files, tmp_path / "landing", period=0.0, check=check)
    assert len(list((tmp_path / "landing").iterdir())) == 1
