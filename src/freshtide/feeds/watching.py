"""Which files have arrived: a watcher that costs next to nothing while nothing does.

A poll looks at the known folders, not at their files: a folder that was not modified has no new names. Files
are looked at while they settle, and once in a while, a few at each poll, to notice rewrites in place.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from freshtide.core.errors import Problem
from freshtide.core.feeds import Feed
from freshtide.feeds.globs import OwnFolders, Places, Role, below, feed_globs, role_of, start
from freshtide.feeds.settling import Look, Markers, Signature, has_settled
from freshtide.world import Disk, OsDisk

# A folder modified this shortly before it was listed can change again without its time moving: clocks of
# file systems tick in milliseconds, some (with whole seconds only) in two seconds.
_RACY = 0.1
_RACY_WHOLE_SECONDS = 2.0
# No file looks like this.
_NOTHING: Signature = (-1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledFile:
    """A file that is complete as far as can be told from outside."""

    path: str
    size: int
    modified_ns: int
    is_punctuation: bool = False
    seen_at: float | None = field(default=None, compare=False)
    """When it was seen to be complete; None where nobody said: then its times may be any."""


@dataclass(slots=True, kw_only=True)
class _Folder:
    path: str
    places: Places
    is_base: bool
    above: frozenset[tuple[int, int]] = frozenset()
    """Device and inode of the folders it was reached through: a link back to one of them is a loop."""
    names: set[str] = field(default_factory=set)
    listed: int | None = None
    """Modification time as of the last listing; None: to be listed."""
    same_since: float = 0.0
    is_racy: bool = False

    def path_of(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"


@dataclass(slots=True, kw_only=True)
class _Watched:
    """A file that lies in one of the folders. What has left them is forgotten."""

    folder: _Folder
    name: str
    role: Role
    look: Look | None = None
    """While it settles: what it looked like last."""
    handed_out: Signature | None = None
    """What it looked like when it was handed out."""


class FolderWatcher:
    """Watches the folders of one feed.

    `known` are files handed out before a restart with the signature they had: they count as handed out,
    and come again only if they have changed.
    """

    def __init__(
        self,
        feed: Feed,
        project_root: Path,
        *,
        known: Mapping[str, Signature] | None = None,
        sweep_interval: float = 30.0,
        disk: Disk | None = None,
    ) -> None:
        self._feed = feed
        self._disk = disk or OsDisk()
        self._settling = feed.folder.settling
        self._markers = Markers(self._settling.marker) if self._settling.marker else None
        self._folders: dict[str, _Folder] = {}
        self._unsettled: dict[str, _Watched] = {}
        self._settled: dict[str, _Watched] = {}
        self._known: dict[str, Signature] = dict(known or {})
        """Until every folder has been looked into: then it is known which of them are still there."""
        self._problems: dict[str, Problem] = {}
        self._sweep_interval = sweep_interval
        self._sweep_started = 0.0
        self._to_sweep: list[str] = []
        self._swept = 0
        globs = feed_globs(feed, project_root)
        self._own = OwnFolders(self._disk, (glob.base for glob in globs))
        for glob in globs:
            self._enter(glob.base, start(glob), is_base=True)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be looked at in the last poll, by path."""
        return tuple(self._problems[path] for path in sorted(self._problems))

    @property
    def settling(self) -> bool:
        """Whether a file has been seen that time alone will settle."""
        return self._markers is None and any(file.look is not None for file in self._unsettled.values())

    def poll(self, now: float, *, steady: float | None = None) -> list[SettledFile]:
        """Files that have settled since the last poll, or settled again after a change, by path.

        `now` is compared with the times of files. `steady` is the same moment by a clock that nobody sets: by that
        one is waited; without it by `now`.
        """
        steady = now if steady is None else steady
        waiting = list(self._folders.values())
        while waiting:
            waiting.extend(self._look_into(waiting.pop(), now, steady))
        if self._known and not self._problems:
            self._known.clear()
        self._sweep(steady)
        found = [file for path in list(self._unsettled) if (file := self._settle(path, now, steady)) is not None]
        return sorted(found, key=lambda file: file.path)

    def again(self, path: str, steady: float, *, fault: str | None = None) -> None:
        """A file that was handed out could not be read: it is handed out again once it can be looked at."""
        file = self._settled.pop(path, None)
        if file is not None:
            file.handed_out, file.look = None, Look(signature=_NOTHING, since=steady)
            self._unsettled[path] = file
        if fault is not None:
            self._problems[path] = self._problem(fault)

    def _look_into(self, folder: _Folder, now: float, steady: float) -> list[_Folder]:
        """List a folder if it may have changed; the folders found in it."""
        try:
            seen = self._disk.look(folder.path)
            if seen.st_mtime_ns == folder.listed and not folder.is_racy:
                return []
            names = set(self._disk.names(folder.path))
        except FileNotFoundError:
            self._lose(folder)
            return []
        except OSError as error:
            if isinstance(error, NotADirectoryError) and not folder.is_base:
                self._lose(folder)  # a file has taken its place
                return []
            folder.listed = None
            self._report(folder.path, error)
            return []
        self._problems.pop(folder.path, None)
        if seen.st_mtime_ns != folder.listed:
            folder.listed, folder.same_since = seen.st_mtime_ns, steady
        window = _RACY if seen.st_mtime_ns % 1_000_000_000 else _RACY_WHOLE_SECONDS
        folder.is_racy = now - seen.st_mtime_ns / 1e9 < window and steady - folder.same_since < window
        for name in folder.names - names:
            self._vanish(folder.path_of(name))
        new, folder.names = names - folder.names, names
        entered = [self._meet(folder, name, seen) for name in sorted(new)]
        return [inner for inner in entered if inner is not None]

    def _meet(self, folder: _Folder, name: str, seen: os.stat_result) -> _Folder | None:
        """Take in a name not seen before; the folder, if it is one to look into."""
        path = folder.path_of(name)
        role, inside = role_of(folder.places, name), below(folder.places, name)
        if role is Role.DATA and self._markers and self._markers.is_marker(name):
            role = None
        if inside:
            lineage = folder.above | {(seen.st_dev, seen.st_ino)}
            try:
                entry = self._disk.look(path)
            except OSError as error:
                if not isinstance(error, FileNotFoundError):
                    self._report(path, error)
            else:
                if stat.S_ISDIR(entry.st_mode):
                    is_loop = (entry.st_dev, entry.st_ino) in lineage
                    if is_loop or self._leads_out(path):
                        return None
                    return self._enter(path, inside, above=lineage)
        if role is not None and path not in self._settled and path not in self._unsettled:
            if _is_text(name):
                known = self._known.pop(path, None)
                self._unsettled[path] = _Watched(folder=folder, name=name, role=role, handed_out=known)
            else:
                self._problems[path] = self._problem(f"The file name {path!a} is not valid UTF-8.")
        return None

    def _enter(
        self,
        path: str,
        places: Places,
        *,
        is_base: bool = False,
        above: frozenset[tuple[int, int]] = frozenset(),
    ) -> _Folder:
        folder = self._folders.get(path)
        if folder is None:
            folder = _Folder(path=path, places=places, is_base=is_base, above=above)
            self._folders[path] = folder
        elif not places <= folder.places:
            # Reached by another glob too: its names have to be judged again.
            folder.places |= places
            folder.names, folder.listed = set(), None
        return folder

    def _lose(self, folder: _Folder) -> None:
        """A folder is gone. A base folder may appear later; others are met again in their parent."""
        self._problems.pop(folder.path, None)
        if folder.is_base:
            self._problems[folder.path] = self._problem(f"the folder {folder.path} does not exist. Is `path` right?")
        for name in folder.names:
            self._vanish(folder.path_of(name))
        folder.names, folder.listed = set(), None
        if not folder.is_base:
            self._folders.pop(folder.path, None)
            parent, _, name = folder.path.rpartition("/")
            if (above := self._folders.get(parent or "/")) is not None:
                above.names.discard(name)

    def _vanish(self, path: str) -> None:
        self._problems.pop(path, None)
        self._unsettled.pop(path, None)
        self._settled.pop(path, None)

    def _sweep(self, steady: float) -> None:
        """Look at the share of the settled files that is due, so that a round takes `sweep_interval`."""
        if not self._to_sweep:
            self._start_round(steady)
            return
        passed = (steady - self._sweep_started) / self._sweep_interval if self._sweep_interval > 0 else 1.0
        due = min(len(self._to_sweep), int(len(self._to_sweep) * passed))
        for path in self._to_sweep[self._swept : due]:
            self._look_again(path)
        self._swept = due
        if passed >= 1:
            self._start_round(steady)

    def _start_round(self, steady: float) -> None:
        self._sweep_started, self._to_sweep, self._swept = steady, list(self._settled), 0

    def _look_again(self, path: str) -> None:
        file = self._settled.get(path)
        if file is None:
            return
        try:
            seen = self._disk.look(path)
        except OSError:
            return  # gone or out of reach: its folder tells
        if (seen.st_size, seen.st_mtime_ns) != file.handed_out:
            del self._settled[path]
            file.look = None
            self._unsettled[path] = file

    def _settle(self, path: str, now: float, steady: float) -> SettledFile | None:
        file = self._unsettled[path]
        by_marker = self._markers is not None and file.role is Role.DATA
        if by_marker and self._markers and self._markers.of(file.name) not in file.folder.names:
            return None
        try:
            seen = self._disk.look(path)
        except OSError as error:
            file.look = None
            # Otherwise removed since it was listed, or a link whose target is not there yet.
            if not isinstance(error, FileNotFoundError):
                self._report(path, error)
            return None
        self._problems.pop(path, None)
        if not stat.S_ISREG(seen.st_mode):
            del self._unsettled[path]
            return None
        signature = (seen.st_size, seen.st_mtime_ns)
        is_news = file.handed_out != signature
        if is_news and not by_marker and not has_settled(self._settling, signature, file.look, now, steady=steady):
            if file.look is None or file.look.signature != signature:
                file.look = Look(signature=signature, since=steady)
            return None
        self._settled[path] = self._unsettled.pop(path)
        file.handed_out, file.look = signature, None
        if is_news and self._leads_out(path):
            return None
        is_punctuation = file.role is Role.PUNCTUATION
        size, modified_ns = signature
        settled = SettledFile(path=path, size=size, modified_ns=modified_ns, is_punctuation=is_punctuation, seen_at=now)
        return settled if is_news else None

    def _leads_out(self, path: str) -> bool:
        """Whether a path is a link out of the feed's folders, which the feed does not allow; that is told."""
        target = None if self._feed.folder.follow_links else self._disk.link_target(path)
        if target is None or target in self._own:
            return False
        message = f"{path} is a link that leads out of the feed's folder, to {target}: it is not followed."
        self._problems[path] = self._problem(f"{message} Put the file itself there, or set `follow_links: true`.")
        return True

    def _report(self, path: str, error: OSError) -> None:
        way_out = " Let the user that runs Freshtide read it." if isinstance(error, PermissionError) else ""
        self._problems[path] = self._problem(f"{path} cannot be looked at: {error.strerror or error}.{way_out}")

    def _problem(self, message: str) -> Problem:
        return Problem(message=f"Feed '{self._feed.name}': {message}", origin=self._feed.origin)


def _is_text(name: str) -> bool:
    """Whether a name can be written down: the catalog keeps paths as text."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
