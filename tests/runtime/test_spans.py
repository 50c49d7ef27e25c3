"""Where views are cut in time."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from faults.tables import MINUTE, project

from freshtide.core.cuts import Cuts
from freshtide.runtime.spans import SourceWeights, cut_of
from freshtide.storage import DataFile

_CUTS = Cuts(project().graph)


def weights(*files: tuple[int, int, int]) -> SourceWeights:
    """Of files that begin and end at these moments and have so many bytes."""
    described: Iterable[DataFile] = [
        DataFile(path=f"{n}", size=size, rows=1, partition_values={}, modified_ms=0, low=low, high=high)
        for n, (low, high, size) in enumerate(files)
    ]
    snapshot: Any = SimpleNamespace(files=tuple(described))
    return SourceWeights([snapshot, None])


def ends(view: str, held: SourceWeights, weight: float, *, upto: int) -> list[int]:
    """Where the parts of a view end, one after the other."""
    found: list[int] = []
    while not found or found[-1] < upto:
        after = found[-1] if found else None
        found.append(cut_of(_CUTS, view, held, after=after, weight=weight, upto=upto))
        assert after is None or found[-1] > after
    return found


def test_a_view_is_cut_between_files_and_within_them() -> None:
    assert ends("large", weights((0, 99, 100), (100, 199, 100)), 50.0, upto=199) == [49, 99, 149, 199]


def test_files_at_the_same_time_are_taken_together() -> None:
    assert ends("large", weights((0, 99, 100), (0, 99, 100)), 50.0, upto=99) == [24, 49, 74, 99]


def test_what_is_small_is_not_cut() -> None:
    assert ends("large", weights((0, 99, 100)), 100.0, upto=99) == [99]
    assert ends("large", weights(), 1.0, upto=99) == [99]


def test_a_time_without_rows_is_passed_in_one_part() -> None:
    assert ends("large", weights((0, 9, 10), (10**12, 10**12 + 9, 10)), 10.0, upto=10**12 + 9) == [
        10**12 - 1,
        10**12 + 9,
    ]


@pytest.mark.parametrize("weight", [1.0, 30.0, 60.0])
def test_buckets_are_not_cut(weight: float) -> None:
    last = 5 * MINUTE + 17
    found = ends("per_minute", weights((0, last, 300)), weight, upto=last)
    assert len(found) >= 5
    assert found == [minute * MINUTE - 1 for minute in range(1, len(found))] + [last]
