"""Open files of a simulated disk, and what a disk tells of files and folders."""

from __future__ import annotations

import os
import stat
from types import TracebackType
from typing import Protocol

from faults.platter import File, Folder, Node

_DEVICE = 1


class Owner(Protocol):
    """The disk that a file is on, as the process sees it that has opened the file."""

    def meet(self, call: str, path: str) -> None: ...

    def now_ns(self) -> int: ...


class SimulatedFile:
    """An open file of a simulated disk."""

    def __init__(self, disk: Owner, file: File, path: str, *, appends: bool = False) -> None:
        self._disk = disk
        self._file = file
        self._path = path
        self._appends = appends
        self._place = len(file.content) if appends else 0
        self.closed = False

    def readable(self) -> bool:
        return not self._appends

    def read(self, size: int = -1, /) -> bytes:
        self._disk.meet("read", self._path)
        end = len(self._file.content) if size < 0 else self._place + size
        found = bytes(self._file.content[self._place : end])
        self._place += len(found)
        return found

    def readinto(self, buffer: bytearray, /) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: len(self._file.content)}[whence]
        self._place = start + place
        return self._place

    def tell(self) -> int:
        return self._place

    def write(self, content: bytes, /) -> int:
        self._disk.meet("write", self._path)
        if not isinstance(self._file.content, bytearray):
            self._file.content = bytearray(self._file.content)
        self._file.content += content
        self._place = len(self._file.content)
        self._file.modified_ns = self._file.changed_ns = self._disk.now_ns()
        return len(content)

    def look(self) -> os.stat_result:
        self._disk.meet("look", self._path)
        return facts_of(self._file)

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> SimulatedFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def facts_of(node: Node) -> os.stat_result:
    is_folder = isinstance(node, Folder)
    mode = stat.S_IFDIR | 0o755 if is_folder else stat.S_IFREG | 0o644
    size = 4_096 if isinstance(node, Folder) else len(node.content)
    modified, changed = node.modified_ns, node.changed_ns
    whole = (modified // 10**9, modified // 10**9, changed // 10**9)
    parts = (modified / 1e9, modified / 1e9, changed / 1e9, modified, modified, changed)
    return os.stat_result((mode, node.number, _DEVICE, 1, 0, 0, size, *whole, *parts))
