from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.errors import FreshtideError, Origin
from freshtide.core.feeds import TimestampFrom
from freshtide.core.instants import parse_instant
from freshtide.feeds import FeedSet
from freshtide.world import OpenFile, OsDisk, StrPath

from .samples import LONG_AGO, NOW, CountingDisk, MemoryLedger, aged, make_feed, polled, put

HEADER = "time,host,load\n"


class BrokenLedger(MemoryLedger):
    """A ledger whose database is away for one feed."""

    def __init__(self, feed: str) -> None:
        super().__init__()
        self.broken: str | None = feed

    def by_paths(self, feed: str, paths: Sequence[str]) -> dict[str, Arrival]:
        if paths and feed == self.broken:
            raise ConnectionError("the database is away")
        return super().by_paths(feed, paths)


def file_names(files: list[Arrival]) -> list[str]:
    return [Path(file.position).name for file in files]


def test_files_arrive_in_the_order_of_their_timestamps_then_paths(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv", HEADER + "2024-05-03,a,1\n")
    put(tmp_path / "landing/b.csv", HEADER + "2024-05-01,a,1\n")
    put(tmp_path / "landing/d.csv", HEADER + "2024-05-01,b,1\n")
    put(tmp_path / "landing/z.csv", HEADER)
    put(tmp_path / "other/c.csv", HEADER + "2024-05-02,a,1\n")
    ledger = MemoryLedger()
    feeds = FeedSet([make_feed(), make_feed(name="mem", path="other")], tmp_path, ledger)
    assert file_names(polled(feeds, ledger)) == ["z.csv", "b.csv", "d.csv", "c.csv", "a.csv"]
    assert polled(feeds, ledger, NOW + 1) == []


def test_equal_files_of_one_poll_are_loaded_once_and_the_earlier_is_the_original(tmp_path: Path) -> None:
    content = HEADER + "2024-05-01,a,1\n"
    for name in ("a_20240502.csv", "b_20240501.csv"):
        put(tmp_path / "landing" / name, content)
    feed = make_feed(timestamp_from=TimestampFrom.NAME, name_pattern="*_%Y%m%d.csv")
    ledger = MemoryLedger()
    found = polled(FeedSet([feed], tmp_path, ledger), ledger)
    assert [(Path(file.position).name, file.state) for file in found] == [
        ("b_20240501.csv", ArrivalState.READY),
        ("a_20240502.csv", ArrivalState.DUPLICATE),
    ]


def test_punctuation_comes_after_the_data_it_was_found_with(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv", HEADER + "2024-05-01,a,1\n2024-05-03,a,1\n")
    put(tmp_path / "landing/upto.punct", "2024-05-02")
    ledger = MemoryLedger()
    found = polled(FeedSet([make_feed(punctuation="*.punct")], tmp_path, ledger), ledger)
    assert [file.state for file in found] == [ArrivalState.READY, ArrivalState.PUNCTUATION]
    assert found[1].timestamp == parse_instant("2024-05-02")


def test_one_bad_feed_does_not_stop_the_others_and_loses_nothing(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv", HEADER)
    put(tmp_path / "other/b.csv", HEADER)
    (tmp_path / "file").write_text("no folder")
    ledger = BrokenLedger("cpu")
    feeds = FeedSet(
        [make_feed(), make_feed(name="mem", path="other"), make_feed(name="disk", path="file")], tmp_path, ledger
    )
    assert file_names(polled(feeds, ledger)) == ["b.csv"]
    messages = [problem.message for problem in feeds.problems]
    assert ["'cpu'" in messages[0], "'disk'" in messages[1]] == [True, True]
    ledger.broken = None
    assert file_names(polled(feeds, ledger, NOW + 1)) == ["a.csv"]
    assert len(feeds.problems) == 1


def test_what_takes_long_to_read_delays_no_other_feed_and_comes_in_order_once_it_is_read(tmp_path: Path) -> None:
    rows = "".join(f"2024-05-02T{n % 24:02d}:00:00,host{n},{n}\n" for n in range(100_000))
    put(tmp_path / "landing/a.csv", HEADER + rows)
    put(tmp_path / "landing/b.csv", HEADER + "2024-05-01,a,1\n")
    put(tmp_path / "other/c.csv", HEADER + "2024-05-03,a,1\n")
    ledger = MemoryLedger()
    feeds = FeedSet([make_feed(), make_feed(name="mem", path="other")], tmp_path, ledger)
    assert file_names(polled(feeds, ledger)) == ["c.csv"]
    later: list[Arrival] = []
    while feeds.settling:
        later += polled(feeds, ledger, NOW + 1)
    assert file_names(later) == ["b.csv", "a.csv"]


def test_a_backlog_is_handed_out_whole_so_that_it_can_be_loaded_in_the_order_of_time(tmp_path: Path) -> None:
    for number in range(200):
        content = HEADER + f"2024-05-01T{number // 60:02d}:{number % 60:02d}:00,a,1\n"
        put(tmp_path / f"landing/{number % 7}/f{number}.csv", content)
    ledger = MemoryLedger()
    feeds = FeedSet([make_feed(path="landing/**/*.csv")], tmp_path, ledger)
    found: list[Arrival] = []
    while not found:
        found = polled(feeds, ledger)
    assert file_names(found) == [f"f{number}.csv" for number in range(200)]
    assert not feeds.settling


def test_a_rewritten_file_is_refused_once(tmp_path: Path) -> None:
    path = put(tmp_path / "landing/a.csv", HEADER)
    aged(tmp_path / "landing")
    ledger = MemoryLedger()
    feeds = FeedSet([make_feed()], tmp_path, ledger, sweep_interval=10)
    polled(feeds, ledger, NOW)
    polled(feeds, ledger, NOW + 1)
    put(path, HEADER + "2024-05-01,a,1\n", at=LONG_AGO + 1)
    states = [file.state for poll in range(2, 40) for file in polled(feeds, ledger, NOW + poll)]
    assert states == [ArrivalState.REFUSED]


def test_a_restart_with_the_known_files_reads_none_of_them_again(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv", HEADER + "2024-05-01,a,1\n")
    ledger = MemoryLedger()
    [file] = polled(FeedSet([make_feed()], tmp_path, ledger), ledger)
    known = {"cpu": {file.position: (file.size, file.modified_ns)}}
    again = FeedSet([make_feed()], tmp_path, BrokenLedger("cpu"), known=known)
    assert again.poll(NOW) == []
    assert again.problems == ()


def test_a_restart_without_them_registers_nothing_twice(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv", HEADER + "2024-05-01,a,1\n")
    ledger = MemoryLedger()
    polled(FeedSet([make_feed()], tmp_path, ledger), ledger)
    assert FeedSet([make_feed()], tmp_path, ledger).poll(NOW) == ledger.files, "it is what it was"


def test_200_idle_feeds_cost_a_look_each(tmp_path: Path) -> None:
    feeds = [make_feed(name=f"feed{n}", path=f"in/{n}") for n in range(200)]
    for feed in feeds:
        aged(put(tmp_path / feed.folder.path / "a.csv", HEADER).parent)
    disk, ledger = CountingDisk(), MemoryLedger()
    watched = FeedSet(feeds, tmp_path, ledger, sweep_interval=1e9, disk=disk)
    assert len(polled(watched, ledger, NOW)) == 200
    disk.looks = disk.listings = 0
    assert watched.poll(NOW + 0.25) == []
    assert (disk.looks, disk.listings) == (200, 0)


def test_a_feed_that_can_never_work_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(FreshtideError, match="Supported"):
        FeedSet([make_feed(time_format="Q")], tmp_path, MemoryLedger())


def opening_fails(monkeypatch: pytest.MonkeyPatch, path: Path, error: OSError) -> None:
    """Let a file not be opened."""
    real = OsDisk.open

    def failing(disk: OsDisk, asked: StrPath) -> OpenFile:
        if asked == str(path):
            raise error
        return real(disk, asked)

    monkeypatch.setattr(OsDisk, "open", failing)


def test_a_file_that_is_away_while_it_is_inspected_is_found_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "landing/a.csv", HEADER + "2024-05-01,a,1\n")
    feeds, ledger = FeedSet([make_feed()], tmp_path, MemoryLedger()), MemoryLedger()
    with monkeypatch.context() as gone:
        opening_fails(gone, path, FileNotFoundError(errno.ENOENT, "No such file or directory"))
        assert polled(feeds, ledger) == []
        assert feeds.settling, "it is worth another look"
    found = [file for later in (1, 2) for file in polled(feeds, ledger, NOW + later)]
    assert [file.position for file in found] == [str(path)]


def test_a_disk_that_does_not_answer_is_told_and_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "landing/a.csv", HEADER + "2024-05-01,a,1\n")
    feeds, ledger = FeedSet([make_feed()], tmp_path, MemoryLedger()), MemoryLedger()
    with monkeypatch.context() as broken:
        opening_fails(broken, path, OSError(errno.ESTALE, "Stale file handle"))
        assert polled(feeds, ledger) == []
        assert "Stale file handle" in str(feeds.faults)
    found = [file for later in (1, 2) for file in polled(feeds, ledger, NOW + later)]
    assert [file.state for file in found] == [ArrivalState.READY]
    assert feeds.faults == {}


def test_what_is_not_acknowledged_comes_again_and_nothing_else_of_its_feed(tmp_path: Path) -> None:
    ledger = MemoryLedger()
    feeds = FeedSet([make_feed()], tmp_path, ledger)
    put(tmp_path / "landing" / "a.csv", HEADER + "2024-01-01T00:00:00Z,a,1\n")
    (first,) = feeds.poll(NOW)
    put(tmp_path / "landing" / "b.csv", HEADER + "2024-01-01T00:00:00Z,a,1\n")
    assert feeds.poll(NOW + 60.0) == [first]
    assert feeds.settling, "it is worth another look"
    ledger.register([first])
    feeds.acknowledge([first])
    (second,) = feeds.poll(NOW + 120.0)
    assert second.state is ArrivalState.DUPLICATE, "the ledger knows the first by then"


def test_feeds_come_and_go_and_those_that_stay_are_not_read_again(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv", HEADER + "2024-05-01,a,1\n")
    put(tmp_path / "other/b.csv", HEADER + "2024-05-02,a,1\n")
    ledger = MemoryLedger()
    feeds = FeedSet([make_feed()], tmp_path, ledger)
    assert file_names(polled(feeds, ledger)) == ["a.csv"]
    moved = replace(make_feed(), origin=Origin(file="feeds/elsewhere.yml"))
    # Whoever is watched on needs not be told what is known.
    feeds.follow([moved, make_feed(name="mem", path="other")], known={})
    assert file_names(polled(feeds, ledger, NOW + 1)) == ["b.csv"]
    feeds.follow([make_feed(name="mem", path="other")], known={})
    put(tmp_path / "landing/c.csv", HEADER + "2024-05-03,a,1\n")
    put(tmp_path / "other/d.csv", HEADER + "2024-05-03,a,1\n")
    assert file_names(polled(feeds, ledger, NOW + 60)) == ["d.csv"]
