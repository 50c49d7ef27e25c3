"""The disk: files and folders by their names, and what of them a power cut leaves.

Every method may raise an OSError that says why. What is written and what is named is there for others at once, and for
good after `sync`: the content of a file after a sync of the file, a name after a sync of the folder that holds it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from io import FileIO
from types import TracebackType
from typing import Any, NamedTuple, Protocol

StrPath = str | os.PathLike[str]


class Room(NamedTuple):
    """The room on the disk of a folder, in bytes."""

    total: int
    free: int


class OpenFile(Protocol):
    """A file that is open, whatever its name leads to by now. Unbuffered: what it has taken is on its way."""

    @property
    def closed(self) -> bool: ...

    def readable(self) -> bool: ...

    def read(self, size: int = -1, /) -> bytes: ...

    def readinto(self, buffer: bytearray, /) -> int: ...

    def seek(self, place: int, whence: int = 0, /) -> int: ...

    def tell(self) -> int: ...

    def write(self, content: bytes, /) -> int:
        """How many of the bytes were taken."""
        ...

    def look(self) -> os.stat_result: ...

    def close(self) -> None: ...

    def __enter__(self) -> OpenFile: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Disk(Protocol):
    """The mounted file systems, seen by one process."""

    def open(self, path: StrPath) -> OpenFile:
        """A file to read from."""
        ...

    def open_end(self, path: StrPath) -> OpenFile:
        """A file to append to; made if it is not there."""
        ...

    def read(self, path: StrPath) -> bytes: ...

    def write(self, path: StrPath, content: Any) -> None:
        """Make this, bytes or a buffer, the whole content of a file."""
        ...

    def create(self, path: StrPath, content: bytes) -> None:
        """The same for a new file, which is there whole or not at all; FileExistsError where the name is taken."""
        ...

    def write_over(self, path: StrPath, content: bytes) -> None:
        """Write over the beginning of a file in place: it keeps its room. Made for its owner if it is not there."""
        ...

    def truncate(self, path: StrPath, length: int) -> None: ...

    def touch(self, path: StrPath) -> None:
        """Set the time of the last modification of a file that is there."""
        ...

    def sync(self, path: StrPath) -> None:
        """Force the content of a file, or the names that a folder holds, to disk."""
        ...

    def rename(self, path: StrPath, target: StrPath) -> None:
        """Give a file or a folder another name, at once; a file takes the place of one that had it."""
        ...

    def link(self, path: StrPath, target: StrPath) -> None:
        """Give a file another name in addition; FileExistsError where it is taken."""
        ...

    def remove(self, path: StrPath, *, missing_ok: bool = False) -> None: ...

    def remove_tree(self, folder: StrPath) -> None:
        """Remove a folder with all that is in it, as far as that can be done."""
        ...

    def make_folders(self, folder: StrPath) -> None:
        """Make a folder, and those above it, where they are not there."""
        ...

    def names(self, folder: StrPath) -> list[str]:
        """The names in a folder, in no order."""
        ...

    def walk(self, folder: StrPath) -> Iterator[tuple[str, list[str], list[str]]]:
        """Each folder from this one down, with the names of its folders and of its files; nothing where it is away."""
        ...

    def exists(self, path: StrPath) -> bool:
        """Whether a path leads anywhere; where nobody can tell, that is raised."""
        ...

    def look(self, path: StrPath) -> os.stat_result:
        """Size, times and kind of what a path leads to, through links."""
        ...

    def link_target(self, path: StrPath) -> str | None:
        """Where a path leads if it is a link, through all links; None if it is none."""
        ...

    def resolved(self, path: StrPath) -> str:
        """Where a path leads, through links in any part of it."""
        ...

    def room(self, folder: StrPath) -> Room: ...


class OsFile(FileIO):
    """An open file of the operating system."""

    def look(self) -> os.stat_result:
        return os.fstat(self.fileno())


class OsDisk:
    """The disks of this machine."""

    def open(self, path: StrPath) -> OpenFile:
        return OsFile(os.fspath(path), "rb")

    def open_end(self, path: StrPath) -> OpenFile:
        return OsFile(os.fspath(path), "ab")

    def read(self, path: StrPath) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def write(self, path: StrPath, content: Any) -> None:
        with open(path, "wb") as file:
            file.write(content)

    def create(self, path: StrPath, content: bytes) -> None:
        with open(path, "xb") as file:
            try:
                file.write(content)
                file.flush()
            except BaseException:
                os.unlink(path)
                raise

    def write_over(self, path: StrPath, content: bytes) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(handle, content, 0)
        finally:
            os.close(handle)

    def truncate(self, path: StrPath, length: int) -> None:
        os.truncate(path, length)

    def touch(self, path: StrPath) -> None:
        os.utime(path)

    def sync(self, path: StrPath) -> None:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, path: StrPath, target: StrPath) -> None:
        os.rename(path, target)

    def link(self, path: StrPath, target: StrPath) -> None:
        os.link(path, target)

    def remove(self, path: StrPath, *, missing_ok: bool = False) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def remove_tree(self, folder: StrPath) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def make_folders(self, folder: StrPath) -> None:
        os.makedirs(folder, exist_ok=True)

    def names(self, folder: StrPath) -> list[str]:
        return os.listdir(folder)

    def walk(self, folder: StrPath) -> Iterator[tuple[str, list[str], list[str]]]:
        return os.walk(os.fspath(folder))

    def exists(self, path: StrPath) -> bool:
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def look(self, path: StrPath) -> os.stat_result:
        return os.stat(path)

    def link_target(self, path: StrPath) -> str | None:
        return os.path.realpath(path) if os.path.islink(path) else None

    def resolved(self, path: StrPath) -> str:
        return os.path.realpath(path)

    def room(self, folder: StrPath) -> Room:
        found = shutil.disk_usage(folder)
        return Room(total=found.total, free=found.free)
