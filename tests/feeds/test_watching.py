from __future__ import annotations

import os
from pathlib import Path

import pytest

from freshtide.core.feeds import Feed, Format, Settling
from freshtide.feeds import FolderWatcher
from freshtide.feeds.formats import CsvFormat, JsonFormat, ParquetFormat
from freshtide.world import StrPath
from tests.examples import slow_except

from .samples import LONG_AGO, NOW, CountingDisk, aged, make_feed, put


def names(watcher: FolderWatcher, now: float) -> list[str]:
    return [Path(file.path).name for file in watcher.poll(now)]


def watch(feed: Feed, root: Path, *, sweep_interval: float = 30.0) -> FolderWatcher:
    return FolderWatcher(feed, root, sweep_interval=sweep_interval)


def test_old_files_count_at_first_sight_and_only_once_in_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv.gz", "c.csv"):
        put(tmp_path / "landing" / name)
    watcher = watch(make_feed(), tmp_path)
    assert names(watcher, NOW) == ["a.csv.gz", "b.csv", "c.csv"]
    assert names(watcher, NOW + 1) == []


def test_a_file_that_is_still_growing_does_not_count(tmp_path: Path) -> None:
    path = put(tmp_path / "landing/a.csv", "x", at=NOW)
    watcher = watch(make_feed(), tmp_path)
    assert names(watcher, NOW) == []
    put(path, "xx", at=NOW + 0.9)
    assert names(watcher, NOW + 1.2) == []
    assert names(watcher, NOW + 1.8) == []
    assert names(watcher, NOW + 2.0) == ["a.csv"]


def test_a_file_that_changed_since_the_last_look_waits_for_another_however_old_it_claims_to_be(
    tmp_path: Path,
) -> None:
    path = put(tmp_path / "landing/a.csv", "x", at=NOW)
    watcher = watch(make_feed(), tmp_path)
    assert names(watcher, NOW) == []
    put(path, "xx", at=LONG_AGO)
    assert names(watcher, NOW + 0.5) == []
    assert names(watcher, NOW + 0.7) == ["a.csv"]


def test_a_file_from_the_future_counts_once_it_has_stayed_the_same_since_it_was_seen(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv", at=NOW + 3_600)
    watcher = watch(make_feed(), tmp_path)
    assert names(watcher, NOW) == []
    assert names(watcher, NOW + 0.9) == []
    assert names(watcher, NOW + 1.0) == ["a.csv"]


def test_without_a_quiet_time_a_file_counts_at_once(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv", at=NOW + 5)
    assert names(watch(make_feed(settling=Settling(quiet=0)), tmp_path), NOW) == ["a.csv"]


@pytest.mark.parametrize("marker", ["{name}.done", "{stem}.ok", "_SUCCESS"])
def test_with_a_marker_a_file_counts_once_the_marker_is_there(tmp_path: Path, marker: str) -> None:
    folder = tmp_path / "landing"
    put(folder / "a.csv.gz", at=NOW)
    watcher = watch(make_feed(path="landing/*", settling=Settling(marker=marker)), tmp_path)
    assert names(watcher, NOW + 100) == []
    put(folder / marker.format(name="a.csv.gz", stem="a"), "", at=NOW)
    assert names(watcher, NOW + 101) == ["a.csv.gz"]
    assert names(watcher, NOW + 102) == []


def test_a_marker_may_come_before_its_file(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv.done", "")
    watcher = watch(make_feed(settling=Settling(marker="{name}.done")), tmp_path)
    assert names(watcher, NOW) == []
    put(tmp_path / "landing/a.csv", at=NOW)
    assert names(watcher, NOW) == ["a.csv"]


@pytest.mark.parametrize(
    "name", [".a.csv", "_a.csv", "a.csv.tmp", "a.csv.part", "a.partial", "a.crdownload", "a.csv.filepart"]
)
def test_temporary_names_are_never_data(tmp_path: Path, name: str) -> None:
    put(tmp_path / "landing" / name)
    assert names(watch(make_feed(path="landing/*"), tmp_path), NOW) == []


def test_a_file_renamed_from_its_temporary_name_counts(tmp_path: Path) -> None:
    path = put(tmp_path / "landing/a.csv.tmp")
    watcher = watch(make_feed(), tmp_path)
    assert names(watcher, NOW) == []
    path.rename(path.with_suffix(""))
    assert names(watcher, NOW) == ["a.csv"]


@pytest.mark.parametrize(
    ("file_format", "expected"),
    [
        (CsvFormat, ["a.csv", "b.csv.gz"]),
        (JsonFormat, ["c.json", "d.jsonl.gz", "e.ndjson"]),
        (ParquetFormat, ["f.parquet"]),
    ],
)
def test_a_folder_stands_for_the_files_of_the_feeds_format(
    tmp_path: Path, file_format: type[Format], expected: list[str]
) -> None:
    for name in ("a.csv", "b.csv.gz", "c.json", "d.jsonl.gz", "e.ndjson", "f.parquet", "g.txt", "csv"):
        put(tmp_path / "landing" / name)
    assert names(watch(make_feed(format=file_format), tmp_path), NOW) == expected


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("in/*.csv", ["0.csv"]),
        ("in/**/*.csv", ["0.csv", "1.csv", "2.csv", "3.csv"]),
        ("in/**", ["0.csv", "1.csv", "2.csv", "3.csv"]),
        ("in/*/*.csv", ["1.csv"]),
        ("in/**/deep/*.csv", ["2.csv", "3.csv"]),
        ("in/day=[0-9]*/deep/", ["2.csv"]),
        ("in/0.csv", ["0.csv"]),
        ("./other/../in/?.csv", ["0.csv"]),
    ],
)
def test_globs_reach_as_deep_as_they_say(tmp_path: Path, glob: str, expected: list[str]) -> None:
    put(tmp_path / "in/0.csv")
    put(tmp_path / "in/day=1/1.csv")
    put(tmp_path / "in/day=1/deep/2.csv")
    put(tmp_path / "in/x/y/deep/3.csv")
    put(tmp_path / "in/_staging/deep/4.csv")
    put(tmp_path / "in/.hidden/5.csv")
    for path in (glob, str(tmp_path / glob) + "/" * glob.endswith("/")):
        assert sorted(names(watch(make_feed(path=path), tmp_path), NOW)) == expected


def test_a_folder_named_like_a_file_is_looked_into(tmp_path: Path) -> None:
    put(tmp_path / "export.csv/part-0.csv")
    watcher = watch(make_feed(path="export.csv"), tmp_path)
    assert names(watcher, NOW) == ["part-0.csv"]
    assert watcher.problems == ()


def test_folders_that_appear_later_are_found(tmp_path: Path) -> None:
    watcher = watch(make_feed(path="in/**/*.csv"), tmp_path)
    assert names(watcher, NOW) == []
    put(tmp_path / "in/a/1.csv")
    assert names(watcher, NOW) == ["1.csv"]
    put(tmp_path / "in/a/b/c/2.csv")
    assert names(watcher, NOW) == ["2.csv"]
    assert watcher.problems == ()


def test_a_folder_that_is_removed_and_comes_back_with_other_files_is_found_again(tmp_path: Path) -> None:
    first = put(tmp_path / "in/a/1.csv")
    watcher = watch(make_feed(path="in/**/*.csv"), tmp_path)
    assert names(watcher, NOW) == ["1.csv"]
    first.unlink()
    first.parent.rmdir()
    assert names(watcher, NOW) == []
    put(first)
    put(tmp_path / "in/a/2.csv")
    assert names(watcher, NOW) == ["1.csv", "2.csv"], "whether the first is what it was, its content tells"


class FlickeringDisk(CountingDisk):
    """A disk on which a folder is gone for one look, as while it is being replaced."""

    gone: str | None = None

    def look(self, path: StrPath) -> os.stat_result:
        if path == self.gone:
            self.gone = None
            raise FileNotFoundError(path)
        return super().look(path)


def test_a_folder_that_is_replaced_between_two_looks_is_found_again(tmp_path: Path) -> None:
    put(tmp_path / "in/a/1.csv")
    disk = FlickeringDisk()
    watcher = FolderWatcher(make_feed(path="in/**/*.csv"), tmp_path, disk=disk)
    assert names(watcher, NOW) == ["1.csv"]
    disk.gone = str(tmp_path / "in/a")
    assert names(watcher, NOW) == ["1.csv"], "it may be another: its content tells"
    put(tmp_path / "in/a/2.csv")
    aged(tmp_path / "in", NOW)  # removing and making a folder modifies its parent
    assert names(watcher, NOW) == ["2.csv"]


def test_a_loop_of_links_does_not_hang(tmp_path: Path) -> None:
    put(tmp_path / "in/a/1.csv")
    (tmp_path / "in/a/up").symlink_to(tmp_path / "in")
    (tmp_path / "in/a/self").symlink_to(tmp_path / "in/a")
    assert names(watch(make_feed(path="in/**/*.csv"), tmp_path), NOW) == ["1.csv"]


def test_a_linked_folder_is_followed_where_the_feed_allows_it(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere/1.csv")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "elsewhere")
    assert names(watch(make_feed(path="in/**/*.csv", follow_links=True), tmp_path), NOW) == ["1.csv"]


def test_a_link_counts_once_its_target_is_there(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/a.csv").symlink_to(tmp_path / "landing/target")
    watcher = watch(make_feed(), tmp_path)
    assert names(watcher, NOW) == []
    assert not watcher.settling, "nobody knows whether it ever comes"
    put(tmp_path / "landing/target")
    assert names(watcher, NOW) == ["a.csv"]


def test_folders_and_pipes_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "landing/a.csv").mkdir(parents=True)
    os.mkfifo(tmp_path / "landing/b.csv")
    feed = make_feed(path="landing/*.csv", settling=Settling(quiet=0))
    assert names(watch(feed, tmp_path), NOW) == []


def test_a_folder_that_cannot_be_looked_into_is_a_problem_until_it_can(tmp_path: Path) -> None:
    (tmp_path / "landing").write_text("a file where the folder should be")
    watcher = watch(make_feed(), tmp_path)
    assert names(watcher, NOW) == []
    [problem] = watcher.problems
    assert "cpu" in problem.message
    assert str(tmp_path / "landing") in problem.message
    (tmp_path / "landing").unlink()
    put(tmp_path / "landing/a.csv")
    assert names(watcher, NOW) == ["a.csv"]
    assert watcher.problems == ()


def test_a_name_that_is_no_text_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv")
    with open(os.fsencode(tmp_path / "landing") + b"/\xff.csv", "wb"):  # noqa: PTH123 - Path takes no bytes
        pass
    watcher = watch(make_feed(), tmp_path)
    assert names(watcher, NOW) == ["a.csv"]
    assert len(watcher.problems) == 1


@pytest.mark.parametrize("files", slow_except([1_000, 100_000], 1_000))
def test_an_idle_folder_costs_one_look_a_poll_however_many_files_it_has(tmp_path: Path, files: int) -> None:
    folder = tmp_path / "landing"
    folder.mkdir()
    known = {}
    for number in range(files):
        path = f"{folder}/{number}.csv"
        os.close(os.open(path, os.O_CREAT))
        seen = os.stat(path)  # noqa: PTH116 - a hundred thousand Paths are slow
        known[path] = (seen.st_size, seen.st_mtime_ns)
    aged(folder)
    disk = CountingDisk()
    watcher = FolderWatcher(make_feed(), tmp_path, known=known, sweep_interval=1e9, disk=disk)
    assert watcher.poll(NOW) == []
    assert disk.listings == 1
    before = disk.looks
    for poll in range(100):
        assert watcher.poll(NOW + poll / 4) == []
    assert disk.listings == 1
    assert disk.looks - before == 100


def test_a_folder_modified_just_before_its_listing_is_listed_again(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv")
    aged(tmp_path / "landing", NOW - 0.010_5)
    disk = CountingDisk()
    watcher = FolderWatcher(make_feed(), tmp_path, disk=disk)
    assert names(watcher, NOW) == ["a.csv"]
    put(tmp_path / "landing/b.csv")
    aged(tmp_path / "landing", NOW - 0.010_5)
    assert names(watcher, NOW + 0.25) == ["b.csv"]
    assert names(watcher, NOW + 0.5) == []
    assert disk.listings == 2


def test_the_sweep_looks_at_every_file_once_in_an_interval_and_at_few_in_each_poll(tmp_path: Path) -> None:
    for number in range(100):
        put(tmp_path / f"landing/{number:02}.csv")
    aged(tmp_path / "landing")
    disk = CountingDisk()
    watcher = FolderWatcher(make_feed(), tmp_path, sweep_interval=10.0, disk=disk)
    watcher.poll(NOW)
    watcher.poll(NOW + 1)
    per_poll = []
    for poll in range(2, 12):
        before = disk.looks
        watcher.poll(NOW + poll)
        per_poll.append(disk.looks - before - 1)
    assert sum(per_poll) == 100
    assert max(per_poll) <= 11


def test_a_rewrite_in_place_is_noticed_by_the_sweep_and_settles_again(tmp_path: Path) -> None:
    path = put(tmp_path / "landing/a.csv", "one")
    aged(tmp_path / "landing")
    watcher = watch(make_feed(), tmp_path, sweep_interval=30.0)
    assert names(watcher, NOW) == ["a.csv"]
    assert names(watcher, NOW + 1) == []
    put(path, "another", at=NOW + 31.5)
    assert names(watcher, NOW + 15) == []
    assert names(watcher, NOW + 32) == [], "it is noticed, but may still be being written"
    [file] = watcher.poll(NOW + 33)
    assert (file.path, file.size) == (str(path), 7)
    assert names(watcher, NOW + 90) == []


def test_files_known_from_before_a_restart_come_again_only_if_they_changed(tmp_path: Path) -> None:
    same, changed = put(tmp_path / "landing/a.csv"), put(tmp_path / "landing/b.csv")
    known = {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in (same, changed)}
    put(changed, "other", at=LONG_AGO + 1)
    watcher = FolderWatcher(make_feed(), tmp_path, known=known)
    assert names(watcher, NOW) == ["b.csv"]


def test_punctuation_files_are_told_apart(tmp_path: Path) -> None:
    put(tmp_path / "landing/a.csv")
    put(tmp_path / "landing/upto.csv")
    put(tmp_path / "marks/1.punct")
    for glob, expected in (("upto*", "upto.csv"), ("landing/upto*", "upto.csv"), ("marks/*.punct", "1.punct")):
        found = watch(make_feed(punctuation=glob), tmp_path).poll(NOW)
        assert [Path(file.path).name for file in found if file.is_punctuation] == [expected]
        assert "a.csv" in [Path(file.path).name for file in found if not file.is_punctuation]


def test_a_link_out_of_the_feeds_folder_is_not_followed_and_told(tmp_path: Path) -> None:
    secret = put(tmp_path / "secret.csv")
    (tmp_path / "elsewhere").mkdir()
    put(tmp_path / "elsewhere/b.csv")
    own = put(tmp_path / "landing/own.csv")
    (tmp_path / "landing/a.csv").symlink_to(secret)
    (tmp_path / "landing/folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "landing/inside.csv").symlink_to(own)
    watcher = FolderWatcher(make_feed(path="landing/**/*.csv"), tmp_path)
    assert [Path(file.path).name for file in watcher.poll(NOW)] == ["inside.csv", "own.csv"]
    told = [problem.message for problem in watcher.problems]
    assert len(told) == 2
    assert str(secret) in told[0]
    assert all("follow_links: true" in message for message in told)
    assert not watcher.settling
    trusting = FolderWatcher(make_feed(path="landing/**/*.csv", follow_links=True), tmp_path)
    assert len(trusting.poll(NOW)) == 4


def test_a_feed_whose_folder_lies_behind_a_link_is_watched_like_any_other(tmp_path: Path) -> None:
    put(tmp_path / "mounted/a.csv")
    (tmp_path / "landing").symlink_to(tmp_path / "mounted")
    watcher = FolderWatcher(make_feed(), tmp_path)
    assert len(watcher.poll(NOW)) == 1
    assert watcher.problems == ()


def test_what_has_left_its_folder_is_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "landing"
    known = {str(folder / f"{number}.csv"): (1, 1) for number in range(1_000)}
    put(folder / "a.csv")
    watcher = FolderWatcher(make_feed(), tmp_path, known=known)
    for number in range(1_000, 1_050):
        path = put(folder / f"{number}.csv")
        aged(folder, NOW + number)
        assert watcher.poll(NOW)
        path.unlink()
        aged(folder, NOW + number + 0.5)
        watcher.poll(NOW)
    held = [value for value in vars(watcher).values() if isinstance(value, dict | list | set)]
    assert max(map(len, held)) <= 2


def test_a_file_that_could_not_be_read_is_handed_out_again(tmp_path: Path) -> None:
    path = put(tmp_path / "landing/a.csv")
    watcher = FolderWatcher(make_feed(), tmp_path)
    (first,) = watcher.poll(NOW)
    watcher.again(str(path), NOW, fault="the disk does not answer")
    assert [problem.message for problem in watcher.problems] == ["Feed 'cpu': the disk does not answer"]
    assert watcher.settling
    assert [file for later in (1, 2) for file in watcher.poll(NOW + later)] == [first]
    assert watcher.problems == ()
