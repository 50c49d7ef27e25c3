"""Globs, matched name by name on the way down from their fixed part.

A watcher meets one folder at a time, so a glob is kept as the places in it that a folder stands at: `**`
stands at several at once. That tells for each new name whether it can be a file of the feed, a folder to go
into, or neither, without ever walking a tree again.
"""

from __future__ import annotations

import fnmatch
import os.path
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from freshtide.core.feeds import Feed
from freshtide.feeds.formats import format_of
from freshtide.world import Disk

_TEMPORARY = re.compile(r"[._].*|.*\.(?:tmp|part|partial|crdownload|filepart)", re.DOTALL)
_WILDCARD = re.compile(r"[*?\[]")


class Role(StrEnum):
    """What the files of a glob hold."""

    DATA = "data"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True, slots=True)
class Part:
    """One level of a glob; without a pattern it is `**`, any number of levels."""

    pattern: re.Pattern[str] | None
    is_literal: bool = False

    def matches(self, name: str) -> bool:
        return self.pattern is not None and self.pattern.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Glob:
    """Files below a base folder whose path matches, level by level."""

    base: str
    parts: tuple[Part, ...]
    role: Role


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that stands before the part at this index of a glob."""

    glob: Glob
    index: int

    @property
    def part(self) -> Part:
        return self.glob.parts[self.index]

    @property
    def is_last(self) -> bool:
        return self.index == len(self.glob.parts) - 1


Places = frozenset[Place]


def is_temporary(name: str) -> bool:
    """Whether a name is one that producers give to what they have not finished, or keep for themselves."""
    return _TEMPORARY.fullmatch(name) is not None


def start(glob: Glob) -> Places:
    """The places of a glob's base folder."""
    return _reached(glob, 0)


def role_of(places: Places, name: str) -> Role | None:
    """What a file of this name in a folder is; punctuation where both globs match."""
    if is_temporary(name):
        return None
    roles = {place.glob.role for place in places if place.is_last and place.part.matches(name)}
    if Role.PUNCTUATION in roles:
        return Role.PUNCTUATION
    return Role.DATA if roles else None


def below(places: Places, name: str) -> Places:
    """The places of a folder of this name in a folder; empty where no file can match below it."""
    reached: set[Place] = set()
    for place in places:
        if place.part.pattern is None:
            if not is_temporary(name):
                reached |= _reached(place.glob, place.index)
        elif not place.is_last and place.part.matches(name) and _may_enter(place.part, name):
            reached |= _reached(place.glob, place.index + 1)
    return frozenset(reached)


def feed_globs(feed: Feed, root: Path) -> tuple[Glob, ...]:
    """The globs of a feed's data and of its punctuation."""
    data = _data_globs(feed, root)
    marks = feed.folder.punctuation
    if marks is None:
        return data
    if "/" not in marks:
        # A bare name is meant beside the data.
        beside = (_part(marks),)
        return data + tuple(
            Glob(base=glob.base, parts=glob.parts[:-1] + beside, role=Role.PUNCTUATION) for glob in data
        )
    base, parts = _split(_absolute(marks, root))
    return (*data, Glob(base=base, parts=parts, role=Role.PUNCTUATION))


def landing_folders(feed: Feed, root: Path) -> tuple[Path, ...]:
    """The folders that hold a feed's data, as far as no wildcard stands before them."""
    return tuple(Path(glob.base) for glob in _data_globs(feed, root)) if feed.brings_files else ()


def is_punctuation(feed: Feed, path: str) -> bool:
    """Whether a path is one of the feed's punctuation files, wherever the project lies."""
    marks = feed.folder.punctuation
    if marks is None:
        return False
    names = tuple(part for part in marks.split("/") if part not in ("", "."))
    anywhere = () if marks.startswith("/") else (Part(None),)
    glob = Glob(base="/", parts=(*anywhere, *map(_part, names)), role=Role.PUNCTUATION)
    *folders, name = path.strip("/").split("/")
    places = start(glob)
    for folder in folders:
        places = below(places, folder)
    return role_of(places, name) is Role.PUNCTUATION


def _data_globs(feed: Feed, root: Path) -> tuple[Glob, ...]:
    endings = "|".join(map(re.escape, format_of(feed).extensions))
    extension = Part(re.compile(rf".+(?:{endings})", re.IGNORECASE))
    path = _absolute(feed.folder.path, root)
    base, parts = _split(path)
    if feed.folder.path.endswith("/") or (parts and parts[-1].pattern is None):
        return (Glob(base=base, parts=(*parts, extension), role=Role.DATA),)
    if parts:
        return (Glob(base=base, parts=parts, role=Role.DATA),)
    if not extension.matches(Path(path).name):
        return (Glob(base=path, parts=(extension,), role=Role.DATA),)
    # `export.csv` may be a file, or a folder that Spark wrote: what is there decides.
    parent, name = str(Path(path).parent), _part(Path(path).name)
    return (
        Glob(base=parent, parts=(name,), role=Role.DATA),
        Glob(base=parent, parts=(name, extension), role=Role.DATA),
    )


def _absolute(path: str, root: Path) -> str:
    return os.path.normpath(root.absolute() / path)


def _split(path: str) -> tuple[str, tuple[Part, ...]]:
    """The folder before the first wildcard, and the parts from there on."""
    names = path.strip("/").split("/")
    fixed = next((i for i, name in enumerate(names) if _WILDCARD.search(name)), len(names))
    return "/" + "/".join(names[:fixed]), tuple(map(_part, names[fixed:]))


def _part(name: str) -> Part:
    if name == "**":
        return Part(None)
    return Part(re.compile(fnmatch.translate(name)), is_literal=_WILDCARD.search(name) is None)


def _may_enter(part: Part, name: str) -> bool:
    return part.is_literal or not is_temporary(name)


def _reached(glob: Glob, index: int) -> Places:
    return frozenset(_through(glob, index))


def _through(glob: Glob, index: int) -> Iterable[Place]:
    yield Place(glob, index)
    while glob.parts[index].pattern is None:
        index += 1
        yield Place(glob, index)


class OwnFolders:
    """The folders that a feed's globs begin at. They may lie behind links themselves, such as mount points.

    Whoever may write into a landing folder must not read the rest of the machine through links in it.
    """

    def __init__(self, disk: Disk, bases: Iterable[str]) -> None:
        self._disk = disk
        self._bases = tuple(dict.fromkeys(bases))

    def __contains__(self, target: str) -> bool:
        """Whether a path without links in it lies in one of the folders, wherever these are by now."""
        return any(f"{target}/".startswith(f"{self._disk.resolved(base).rstrip('/')}/") for base in self._bases)
