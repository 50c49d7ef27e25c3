"""What a power cut leaves of a simulated disk, held against a naive model of what it may leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from faults.disk import DeadError, SimulatedDisk
from hypothesis import given
from hypothesis import strategies as st

from freshtide.storage.journal import write_journal
from freshtide.world import make_folder, sync_files

_FOLDERS = ("/a", "/b")
_PATHS = [f"{folder}/{name}" for folder in _FOLDERS for name in ("1", "2", "3")]
_SEEDS = range(200)


def test_what_was_synced_with_its_name_is_there() -> None:
    for seed in _SEEDS:
        disk = _with_folders()
        disk.write("/a/1", b"content")
        disk.sync("/a/1")
        disk.sync("/a")
        disk.write("/a/2", b"another")
        assert disk.crash(Random(seed)).read("/a/1") == b"content"


def test_content_without_a_sync_is_lost_torn_or_kept() -> None:
    found = set()
    for seed in _SEEDS:
        disk = _with_folders()
        disk.write("/a/1", b"abcd")
        disk.sync("/a")
        found.add(disk.crash(Random(seed)).read("/a/1"))
    assert found == {b"", b"a", b"ab", b"abc", b"abcd"}


def test_a_name_without_a_sync_of_its_folder_is_there_or_not() -> None:
    found = set()
    for seed in _SEEDS:
        disk = _with_folders()
        disk.write("/a/1", b"abcd")
        disk.sync("/a/1")
        after = disk.crash(Random(seed))
        found.add(after.read("/a/1") if after.exists("/a/1") else None)
    assert found == {None, b"abcd"}


def test_a_journal_is_there_also_where_nobody_has_synced_the_names_of_its_folders() -> None:
    folder = Path("/a/_freshtide/flows/split.1")
    for seed in _SEEDS:
        disk = _with_folders()
        disk.make_folders(folder)
        write_journal(disk, folder, [])
        assert disk.crash(Random(seed)).exists(folder / "journal.json")


def test_a_new_folder_is_as_lasting_as_its_name() -> None:
    kept = set()
    for seed in _SEEDS:
        disk = _with_folders()
        disk.make_folders("/a/new")
        disk.write("/a/new/1", b"x")
        disk.sync("/a/new/1")
        disk.sync("/a/new")
        kept.add(disk.crash(Random(seed)).exists("/a/new/1"))
    assert kept == {True, False}
    for seed in _SEEDS:
        disk = _with_folders()
        make_folder(disk, Path("/a/new/inner"))
        disk.write("/a/new/inner/1", b"x")
        sync_files(disk, [Path("/a/new/inner/1")])
        assert disk.crash(Random(seed)).read("/a/new/inner/1") == b"x"


def test_a_rename_is_done_or_not_and_loses_no_synced_content() -> None:
    found = set()
    for seed in _SEEDS:
        disk = _with_folders()
        for path, content in (("/a/old", b"old"), ("/a/new", b"new")):
            disk.write(path, content)
            disk.sync(path)
        disk.sync("/a")
        disk.rename("/a/new", "/a/old")
        after = disk.crash(Random(seed))
        found.add((after.read("/a/old"), after.exists("/a/new")))
    assert found == {(b"old", True), (b"new", False)}


def test_a_rename_of_content_that_was_not_synced_can_leave_an_empty_file() -> None:
    found = set()
    for seed in _SEEDS:
        disk = _with_folders()
        disk.write("/a/partial", b"new")
        disk.rename("/a/partial", "/a/whole")
        disk.sync("/a")
        found.add(disk.crash(Random(seed)).read("/a/whole"))
    assert {b"", b"new"} < found


def test_what_is_appended_never_hurts_what_was_synced_before() -> None:
    found = set()
    for seed in _SEEDS:
        disk = _with_folders()
        disk.write("/a/log", b"one\n")
        sync_files(disk, [Path("/a/log")])
        with disk.open_end("/a/log") as file:
            file.write(b"two\n")
        found.add(disk.crash(Random(seed)).read("/a/log"))
    assert all(content.startswith(b"one\n") and b"one\ntwo\n".startswith(content) for content in found)
    assert len(found) > 3


def test_nobody_is_answered_after_a_power_cut() -> None:
    disk = _with_folders()
    other = disk.another_process()
    file = disk.open_end("/a/log")
    disk.crash(Random(1))
    for ask in (
        lambda: disk.read("/a/1"),
        lambda: other.names("/a"),
        lambda: file.write(b"x"),
        lambda: disk.exists("/"),
    ):
        with pytest.raises(DeadError):
            ask()
    with pytest.raises(DeadError):
        try:
            disk.write("/a/1", b"")
        except Exception:
            pytest.fail("nothing that goes on after an error goes on after this")


def test_a_killed_process_leaves_all_that_it_wrote() -> None:
    disk = _with_folders()
    disk.write("/a/1", b"abcd")
    after = disk.another_process()
    disk.kill()
    with pytest.raises(DeadError):
        disk.read("/a/1")
    assert after.read("/a/1") == b"abcd"
    lost = {after.after_power_cut(Random(seed)).exists("/a/1") for seed in _SEEDS}
    assert lost == {True, False}, "it is not durable for that"


def test_the_same_seed_leaves_the_same() -> None:
    def left(seed: int) -> dict[str, bytes]:
        disk = _with_folders()
        for path in _PATHS:
            disk.write(path, path.encode() * 3)
        return _content(disk.crash(Random(seed)))

    assert [left(seed) for seed in _SEEDS] == [left(seed) for seed in _SEEDS]


_Paths = st.sampled_from(_PATHS)
_Steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), _Paths, st.binary(max_size=4)),
        st.tuples(st.just("append"), _Paths, st.binary(min_size=1, max_size=4)),
        st.tuples(st.just("rename"), _Paths, _Paths),
        st.tuples(st.just("link"), _Paths, _Paths),
        st.tuples(st.just("remove"), _Paths),
        st.tuples(st.just("sync"), st.sampled_from([*_PATHS, *_FOLDERS])),
    ),
    max_size=25,
)


@given(steps=_Steps, seed=st.integers())
def test_a_power_cut_leaves_only_what_the_model_allows(steps: list[tuple[object, ...]], seed: int) -> None:
    disk, model = _with_folders(), _Model()
    for step in steps:
        model.do(disk, *step)
    assert _content(disk) == model.content(), "as long as there is power, it is a plain disk"
    after = disk.crash(Random(seed))
    found = _content(after)
    for path in _PATHS:
        assert found.get(path) in model.possible(path), path
    assert _content(after.crash(Random(seed))) == found, "what was found is durable"


@dataclass(eq=False)
class _Version:
    """A file in the naive model: its content now and all that a power cut may leave of it."""

    content: bytes = b""
    durable: bytes = b""
    is_rewritten: bool = False

    def possible(self) -> set[bytes]:
        torn = {self.content[:length] for length in range(len(self.content) + 1)}
        if self.is_rewritten:
            return torn | {b"", self.durable}
        return {part for part in torn if len(part) >= len(self.durable)} | {self.durable, self.content}


@dataclass
class _Model:
    """By path all that its name has led to since its folder was synced, the last one now."""

    names: dict[str, list[_Version | None]] = field(default_factory=lambda: {path: [None] for path in _PATHS})

    def do(self, disk: SimulatedDisk, kind: object, path: object, more: object = None) -> None:
        path = str(path)
        if path in _FOLDERS:
            disk.sync(path)
            for name, led_to in self.names.items():
                if name.startswith(path):
                    del led_to[:-1]
            return
        version, other = self.names[path][-1], str(more)
        match kind:
            case "write":
                assert isinstance(more, bytes)
                disk.write(path, more)
                version = self._made(path, version)
                version.content, version.is_rewritten = more, True
            case "append":
                assert isinstance(more, bytes)
                with disk.open_end(path) as file:
                    file.write(more)
                self._made(path, version).content += more
            case _ if version is None:
                return
            case "rename" if self.names[other][-1] is not version:
                disk.rename(path, other)
                self.names[path].append(None)
                self.names[other].append(version)
            case "link" if self.names[other][-1] is None:
                disk.link(path, other)
                self.names[other].append(version)
            case "remove":
                disk.remove(path)
                self.names[path].append(None)
            case "sync":
                disk.sync(path)
                version.durable, version.is_rewritten = version.content, False

    def _made(self, path: str, version: _Version | None) -> _Version:
        if version is None:
            version = _Version()
            self.names[path].append(version)
        return version

    def content(self) -> dict[str, bytes]:
        return {path: led_to[-1].content for path, led_to in self.names.items() if led_to[-1] is not None}

    def possible(self, path: str) -> set[bytes | None]:
        versions = self.names[path]
        there: set[bytes | None] = {content for version in versions if version for content in version.possible()}
        return there | ({None} if None in versions else set())


def _with_folders() -> SimulatedDisk:
    disk = SimulatedDisk()
    for folder in _FOLDERS:
        make_folder(disk, Path(folder))
    return disk


def _content(disk: SimulatedDisk) -> dict[str, bytes]:
    return {path: disk.read(path) for path in _PATHS if disk.exists(path)}
