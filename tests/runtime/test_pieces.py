from __future__ import annotations

from collections.abc import Callable

import pytest

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.pieces import LONGEST_PIECE
from freshtide.runtime.pieces import PieceSizes, aim_of

MEGABYTE = 1_000_000


def files(count: int, size: int) -> list[Arrival]:
    return [
        Arrival(
            feed="f",
            position=f"/in/{n}",
            digest="",
            size=size,
            modified_ns=0,
            arrived_at=0.0,
            state=ArrivalState.READY,
            id=n,
        )
        for n in range(count)
    ]


def loads(backlog: list[Arrival], seconds_per_megabyte: float, aim: float = LONGEST_PIECE) -> list[float]:
    """The seconds that the pieces of a backlog take."""
    sizes, took = PieceSizes(), []
    while backlog:
        piece = backlog[: sizes.fitting("t", backlog, aim=aim)]
        backlog = backlog[len(piece) :]
        took.append(0.5 + seconds_per_megabyte * sum(file.size for file in piece) / MEGABYTE)
        sizes.measured("t", piece, took[-1], aim=aim)
    return took


def test_a_backlog_is_loaded_in_pieces_of_about_the_same_time_whatever_the_machine() -> None:
    for seconds_per_megabyte in (0.01, 0.1, 1.0):
        took = loads(files(5_000, MEGABYTE), seconds_per_megabyte)
        assert max(took[2:]) < 1.5 * LONGEST_PIECE
        assert min(took[5:-1]) > LONGEST_PIECE / 3


def test_the_first_piece_of_a_run_does_not_take_long_even_where_each_file_does() -> None:
    seconds_per_file = 0.15
    assert seconds_per_file * PieceSizes().fitting("t", files(500, 400)) < LONGEST_PIECE


def test_many_small_files_count_for_more_than_their_bytes() -> None:
    assert PieceSizes().fitting("t", files(100_000, 10)) < 1_000


def test_a_file_larger_than_any_piece_is_a_piece_of_its_own() -> None:
    assert PieceSizes().fitting("t", files(2, 10**12)) == 1


def test_small_loads_do_not_make_pieces_smaller() -> None:
    sizes, backlog = PieceSizes(), files(1_000, MEGABYTE)
    before = sizes.fitting("t", backlog)
    sizes.measured("t", files(1, 1_000), 1.0)
    assert sizes.fitting("t", backlog) == before


def test_a_piece_takes_no_longer_than_the_others_can_wait() -> None:
    for aim in (4.0, 6.0):
        for seconds_per_megabyte in (0.01, 0.1, 1.0):
            took = loads(files(2_000, MEGABYTE), seconds_per_megabyte, aim)
            assert max(took[2:]) < 1.5 * aim
            assert min(took[5:-1]) > aim / 3


def test_pieces_follow_what_the_others_can_wait_as_it_changes() -> None:
    sizes, backlog = PieceSizes(), files(1_000, MEGABYTE)
    for _ in range(10):
        sizes.measured("t", backlog[: sizes.fitting("t", backlog, aim=4.0)], 4.0, aim=4.0)
    assert sizes.fitting("t", backlog, aim=8.0) >= 2 * sizes.fitting("t", backlog, aim=4.0)


def test_ten_seconds_are_the_most_so_that_every_restart_finds_less() -> None:
    assert (aim_of(None), aim_of(300.0), aim_of(3.0)) == (LONGEST_PIECE, LONGEST_PIECE, 3.0)


def spans(left: float, took: Callable[[float], float], *, aim: float, within: float | None) -> list[float]:
    """The seconds that the parts of a view take whose sources hold so many bytes."""
    sizes, seconds = PieceSizes(), []
    while left > 0.0:
        part = min(left, sizes.span("v", aim=aim, within=within))
        left -= part
        seconds.append(took(part))
        sizes.measured_span("v", part, seconds[-1])
    return seconds


@pytest.mark.parametrize("per_megabyte", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("aim", [4.0, LONGEST_PIECE])
def test_parts_of_a_view_take_as_long_as_they_may_whatever_the_machine(per_megabyte: float, aim: float) -> None:
    took = spans(5_000 * MEGABYTE, lambda size: 0.2 + per_megabyte * size / MEGABYTE, aim=aim, within=aim)
    assert max(took[1:]) < 1.25 * aim
    assert min(took[6:-1]) > aim / 2


def test_a_view_is_not_cut_into_parts_that_are_mostly_fixed() -> None:
    def took(size: float) -> float:
        return 20.0 + 0.1 * size / MEGABYTE

    patient = spans(10_000 * MEGABYTE, took, aim=LONGEST_PIECE, within=200.0)
    assert max(patient) <= 200.0
    assert len(patient) * 20.0 < sum(patient) / 3, "an eighth of each part, once that is known"
    hasty = spans(10_000 * MEGABYTE, took, aim=5.0, within=5.0)
    assert len(hasty) < 20, "cutting would make it no shorter"


def test_what_is_left_of_a_rebuild_does_not_make_the_next_one_begin_small() -> None:
    sizes = PieceSizes()
    sizes.measured_span("v", 100.0 * MEGABYTE, 10.0)
    sizes.measured_span("v", 1_000.0, 0.5)
    assert sizes.span("v", aim=10.0, within=None) == pytest.approx(100.0 * MEGABYTE)


def test_less_time_makes_no_smaller_pieces_of_what_never_took_that_long() -> None:
    # A table that nobody knew had four seconds. Then the others can wait for half a second, which is plenty.
    sizes, waiting = PieceSizes(), files(500, 4_000)
    sizes.measured("t", waiting[:8], 0.08, aim=4.0)
    assert sizes.fitting("t", waiting, aim=0.6) >= 16
