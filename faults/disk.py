"""A disk in memory, seen by one process: fast, faulty when told so, and dead when the process is.

`crash` cuts the power: every process that still asks is told by `DeadError`, which nothing catches, so that no
`finally` can put in order what a real crash would not have. What it returns is what the next process finds. `kill` ends
one process alone: all that it has written stays.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any

from faults.files import SimulatedFile, facts_of
from faults.platter import Clock, File, Folder, Node, Platter
from freshtide.world import Room, StrPath

# How a path ends that is none of a name in a folder.
_NO_NAMES = ("", ".")
_ROOM = Room(total=1 << 40, free=1 << 39)


class DeadError(BaseException):
    """The process that asks has ended. No Exception: nothing that it still does may count."""


@dataclass(slots=True, kw_only=True)
class Moment:
    """The n-th call of a kind, as seen from when somebody waits for it, and so many after it."""

    calls: frozenset[str] = frozenset()
    """Methods of a disk, `write` of an open file among them; none: any."""
    nth: int = 1
    times: int = 1
    below: str = ""
    """Part of the paths that it concerns."""
    met: int = field(default=0, init=False)

    def is_now(self, call: str, path: str) -> bool:
        if (self.calls and call not in self.calls) or self.below not in path:
            return False
        self.met += 1
        return self.nth <= self.met < self.nth + self.times


@dataclass(slots=True, kw_only=True)
class Fault(Moment):
    """Calls that fail."""

    error: int
    """As in `errno`."""


@dataclass(slots=True, kw_only=True)
class Act(Moment):
    """Something that happens to the process in the midst of a call, before that is carried out."""

    do: Callable[[], None]


class SimulatedDisk:
    """A Disk over a platter."""

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        spend: Callable[[], None] = lambda: None,
        tell: Callable[[str, str], None] = lambda _what, _about: None,
        platter: Platter | None = None,
    ) -> None:
        """`clock` tells the times that files bear, in seconds, and `spend` lets the time of a call pass.

        `tell` hears of names that are given to what is there already (`named`), and of calls that fail (`fault`).
        """
        self._platter = platter or Platter(clock, spend, tell)
        self._is_alive = True
        self.faults: list[Fault] = []
        self.calls: Counter[str] = Counter()
        """How often each method was asked."""
        self.acts: list[Act] = []
        self.dies_at: int | None = None
        """The process ends before this call, counted over all of them."""
        self.free = _ROOM.free

    # Processes and power.

    def another_process(self) -> SimulatedDisk:
        """The same disk, seen by another process."""
        return SimulatedDisk(platter=self._platter)

    def kill(self) -> None:
        """End the process. What it has written is there for the others."""
        self._is_alive = False

    def crash(self, rng: Random) -> SimulatedDisk:
        """Cut the power, for all processes; what the first one finds when it is back."""
        self._platter.is_on = False
        return self.after_power_cut(rng)

    def after_power_cut(self, rng: Random) -> SimulatedDisk:
        """What a process would find if the power went now; all goes on meanwhile."""
        return SimulatedDisk(platter=self._platter.after_power_cut(rng))

    def meet(self, call: str, path: str) -> None:
        """Count a call, and let it fail if it shall."""
        platter = self._platter
        self.calls[call] += 1
        platter.spend()
        if self.dies_at is not None and self.calls.total() >= self.dies_at:
            self.kill()
        if self.acts:
            for act in self.acts:
                if act.is_now(call, path):
                    act.do()
        if not self._is_alive or not platter.is_on:
            raise DeadError(call, path)
        if self.faults:
            for fault in self.faults:
                if fault.is_now(call, path):
                    platter.tell("fault", f"{errno.errorcode[fault.error]} at {call} of {path}")
                    raise _refusal(fault.error, path)

    # The port.

    def open(self, path: StrPath) -> SimulatedFile:
        return SimulatedFile(self, self._file("open", path), os.fspath(path))

    def open_end(self, path: StrPath) -> SimulatedFile:
        return SimulatedFile(self, self._file_made("open_end", path), os.fspath(path), appends=True)

    def read(self, path: StrPath) -> bytes:
        return bytes(self._file("read", path).content)

    def write(self, path: StrPath, content: Any) -> None:
        try:
            self.meet("write", os.fspath(path))
        except OSError as error:
            if error.errno == errno.ENOSPC:
                whole = bytes(content)
                self._put(path, whole[: len(whole) // 2])
            raise
        self._put(path, bytes(content))

    def create(self, path: StrPath, content: bytes) -> None:
        folder, name = self._place("create", path)
        if name in folder.names:
            raise _refusal(errno.EEXIST, path)
        file = self._platter.new_file()
        file.content = bytes(content)
        self._platter.rename((folder, name, file))

    def write_over(self, path: StrPath, content: bytes) -> None:
        file = self._file_made("write_over", path)
        file.content = bytes(content) + bytes(file.content[len(content) :])
        file.modified_ns = file.changed_ns = self._platter.now_ns()

    def truncate(self, path: StrPath, length: int) -> None:
        file = self._file("truncate", path)
        file.content = bytes(file.content[:length]).ljust(length, b"\0")
        file.modified_ns = file.changed_ns = self._platter.now_ns()

    def touch(self, path: StrPath) -> None:
        node = self._node("touch", path)
        node.modified_ns = node.changed_ns = self._platter.now_ns()

    def sync(self, path: StrPath) -> None:
        self._platter.sync(self._node("sync", path))

    def rename(self, path: StrPath, target: StrPath) -> None:
        folder, name = self._place("rename", path)
        node = folder.names.get(name)
        if node is None:
            raise _refusal(errno.ENOENT, path)
        above, other = self._placed(target)
        before = above.names.get(other)
        if before is node:
            return
        if isinstance(before, Folder):
            if not isinstance(node, Folder):
                raise _refusal(errno.EISDIR, target)
            if before.names:
                raise _refusal(errno.ENOTEMPTY, target)
        elif before is not None and isinstance(node, Folder):
            raise _refusal(errno.ENOTDIR, target)
        self._platter.rename((folder, name, None), (above, other, node))
        self._platter.tell("named", os.fspath(target))

    def link(self, path: StrPath, target: StrPath) -> None:
        file = self._file("link", path)
        folder, name = self._placed(target)
        if name in folder.names:
            raise _refusal(errno.EEXIST, target)
        self._platter.rename((folder, name, file))
        self._platter.tell("named", os.fspath(target))

    def remove(self, path: StrPath, *, missing_ok: bool = False) -> None:
        try:
            folder, name = self._place("remove", path)
            node = folder.names.get(name)
            if node is None:
                raise _refusal(errno.ENOENT, path)
        except FileNotFoundError:
            if missing_ok:
                return
            raise
        if isinstance(node, Folder):
            raise _refusal(errno.EISDIR, path)
        self._platter.rename((folder, name, None))

    def remove_tree(self, folder: StrPath) -> None:
        try:
            above, name = self._place("remove_tree", folder)
            node = above.names[name]
        except (OSError, KeyError):
            return
        if isinstance(node, Folder):
            self._empty(node)
            self._platter.rename((above, name, None))

    def make_folders(self, folder: StrPath) -> None:
        self.meet("make_folders", os.fspath(folder))
        above = self._platter.root
        for name in _parts(os.fspath(folder)):
            node = above.names.get(name)
            if node is None:
                node = self._platter.new_folder()
                self._platter.rename((above, name, node))
            if isinstance(node, File):
                raise _refusal(errno.EEXIST, folder)
            above = node

    def names(self, folder: StrPath) -> list[str]:
        node = self._node("names", folder)
        if isinstance(node, File):
            raise _refusal(errno.ENOTDIR, folder)
        return list(node.names)

    def walk(self, folder: StrPath) -> Iterator[tuple[str, list[str], list[str]]]:
        try:
            node = self._node("walk", folder)
        except OSError:
            return
        waiting = [(os.fspath(folder), node)]
        while waiting:
            path, node = waiting.pop()
            if isinstance(node, File):
                continue
            inner = {name: inside for name, inside in node.names.items() if isinstance(inside, Folder)}
            yield path, list(inner), [name for name in node.names if name not in inner]
            waiting += [(f"{path}/{name}", inside) for name, inside in inner.items()]

    def exists(self, path: StrPath) -> bool:
        place = os.fspath(path)
        self.meet("exists", place)
        above, _, name = place.rpartition("/")
        try:
            return name in _NO_NAMES or name in self._folder(above).names
        except (FileNotFoundError, NotADirectoryError):
            return False

    def look(self, path: StrPath) -> os.stat_result:
        return facts_of(self._node("look", path))

    def link_target(self, path: StrPath) -> str | None:
        self.meet("link_target", os.fspath(path))
        return None  # There are no links but hard ones.

    def resolved(self, path: StrPath) -> str:
        return os.fspath(path)  # There are no links here.

    def room(self, folder: StrPath) -> Room:
        self._node("room", folder)
        return _ROOM._replace(free=self.free)

    # Within.

    def now_ns(self) -> int:
        return self._platter.now_ns()

    def _node(self, call: str, path: StrPath) -> Node:
        place = os.fspath(path)
        self.meet(call, place)
        above, _, name = place.rpartition("/")
        folder = self._platter.folders.get(above)
        node = None if folder is None else folder.names.get(name)
        return self._found(place) if node is None else node

    def _found(self, path: str) -> Node:
        above, _, name = path.rpartition("/")
        if name in _NO_NAMES:
            return self._folder(path)
        node = self._folder(above).names.get(name)
        if node is None:
            raise _refusal(errno.ENOENT, path)
        return node

    def _folder(self, path: str) -> Folder:
        """The folder of that path. All are asked for again and again, and few ever lose their names."""
        folder = self._platter.folders.get(path)
        return folder if folder is not None else self._walked(path)

    def _walked(self, path: str) -> Folder:
        folder = self._platter.root
        for name in _parts(path):
            inner = folder.names.get(name)
            if inner is None:
                raise _refusal(errno.ENOENT, path)
            if isinstance(inner, File):
                raise _refusal(errno.ENOTDIR, path)
            folder = inner
        self._platter.folders[path] = folder
        return folder

    def _file(self, call: str, path: StrPath) -> File:
        node = self._node(call, path)
        if isinstance(node, Folder):
            raise _refusal(errno.EISDIR, path)
        return node

    def _place(self, call: str, path: StrPath) -> tuple[Folder, str]:
        place = os.fspath(path)
        self.meet(call, place)
        return self._placed(place)

    def _placed(self, path: StrPath) -> tuple[Folder, str]:
        """The folder that a path lies in, and its name there."""
        above, _, name = os.fspath(path).rpartition("/")
        return self._folder(above), name

    def _file_made(self, call: str, path: StrPath) -> File:
        self.meet(call, os.fspath(path))
        return self._made(path)

    def _made(self, path: StrPath) -> File:
        """The file of that name; a new one where there is none."""
        folder, name = self._placed(path)
        node = folder.names.get(name)
        if isinstance(node, Folder):
            raise _refusal(errno.EISDIR, path)
        if node is None:
            node = self._platter.new_file()
            self._platter.rename((folder, name, node))
        return node

    def _put(self, path: StrPath, content: bytes) -> None:
        file = self._made(path)
        file.content, file.is_rewritten = content, True
        file.modified_ns = file.changed_ns = self._platter.now_ns()

    def _empty(self, folder: Folder) -> None:
        for name, node in list(folder.names.items()):
            if isinstance(node, Folder):
                self._empty(node)
            self._platter.rename((folder, name, None))


@lru_cache(maxsize=1 << 16)
def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _refusal(number: int, path: StrPath) -> OSError:
    return OSError(number, os.strerror(number), os.fspath(path))
