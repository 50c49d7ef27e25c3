"""A run as others see it: from when it has read its project, through its start, to its end.

Each run has a folder of its own under `.freshtide/running/`, with a copy of the files that its project was read from
and a word on who it is and whether it works yet. So who looks on judges a warehouse by what it runs with, whatever has
become of the files since, and who asks for something knows that a run is starting. What a process that died has left
there is passed by, and swept up by the next run.
"""

from __future__ import annotations

import json
import logging
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from freshtide.core.errors import ProjectError
from freshtide.project import Changes, Project, changes_between, digest_of, load_project, project_files
from freshtide.runs.places import Places, running_in
from freshtide.world import Process, Processes, SystemProcesses

_logger = logging.getLogger(__name__)
_WORD = "run.json"


class Presence:
    """What a run tells of itself. Where that cannot be written it runs all the same, and others see less."""

    def __init__(self, project: Project, process: Process) -> None:
        self._process = process
        self._folder = Places(project).running / f"{process.pid}-{uuid.uuid4().hex[:8]}"
        self._copies = 0
        self._digest: str | None = None
        """Of the project that the last copy is of."""

    def starts(self, project: Project) -> None:
        """It has read its project, and does not work yet."""
        self._tell(project, is_at_work=False)

    def works(self, project: Project) -> None:
        """It has taken up its work with this project, or goes on with this one from now on."""
        self._tell(project, is_at_work=True)

    def ends(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tell(self, project: Project, *, is_at_work: bool) -> None:
        digest = digest_of(project)
        # A start takes long, and the files may be edited in it: the copy of what was read then stays.
        is_copied = digest == self._digest
        self._copies += not is_copied
        copy = self._folder / f"project.{self._copies}"
        try:
            if not is_copied:
                _copy_files(project.root, copy)
            self._digest = digest
            said = {**asdict(self._process), "is_at_work": is_at_work, "copy": copy.name, "digest": digest}
            fresh = self._folder / f"{_WORD}.new"
            fresh.write_text(json.dumps(said), encoding="utf-8")
            fresh.rename(self._folder / _WORD)
        except OSError as error:
            _logger.warning("Others cannot see what this run runs with: %s", error)
        for older in self._folder.glob("project.*"):
            if older != copy:
                shutil.rmtree(older, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRun:
    """A run that goes on, or is starting."""

    process: Process
    is_at_work: bool
    root: Path
    copy: Path
    digest: str

    def __str__(self) -> str:
        return f"process {self.process.pid} on {self.process.host}"

    @property
    def project(self) -> Project | None:
        """What it runs with; None where that cannot be told from the copy."""
        try:
            found = load_project(self.root, files=self.copy)
        except (ProjectError, OSError):
            return None
        # The files may have changed between being read and being copied.
        return found if digest_of(found) == self.digest else None

    @property
    def has_the_files(self) -> bool:
        """Whether the files are what they were when it read them."""
        return _contents(self.root) == _contents(self.copy)


@contextmanager
def seen_by_others(project: Project, processes: Processes | None = None) -> Iterator[Presence]:
    """Let others see the run of a project that was read from files, for as long as the block lasts."""
    known = processes or SystemProcesses()
    for folder in _folders(project.root):
        said = _read(folder, project.root)
        if said is None or not _lives(said.process, known):
            shutil.rmtree(folder, ignore_errors=True)
    presence = Presence(project, known.this())
    presence.starts(project)
    try:
        yield presence
    finally:
        presence.ends()


def seen_run(root: Path, processes: Processes | None = None) -> SeenRun | None:
    """The run of the project in a folder, if there is one on this machine; one that works before one that starts."""
    known = processes or SystemProcesses()
    found = [said for folder in _folders(root) if (said := _read(folder, root)) is not None]
    there = [said for said in found if _lives(said.process, known)]
    return max(there, key=lambda said: (said.is_at_work, said.process.born or 0, said.process.pid), default=None)


def unapplied(run: SeenRun, at_work: Project) -> Changes | ProjectError | None:
    """What the files say otherwise than the run, or why they say nothing; None where they say the same."""
    if run.has_the_files:
        return None
    try:
        return changes_between(at_work, load_project(run.root)) or None
    except ProjectError as error:
        return error


def _lives(process: Process, processes: Processes) -> bool:
    this = processes.this()
    is_within_sight = (process.machine, process.namespace) == (this.machine, this.namespace)
    return is_within_sight and processes.lives(process.pid, process.born)


def _folders(root: Path) -> list[Path]:
    return sorted(running_in(root).glob("*"))


def _read(folder: Path, root: Path) -> SeenRun | None:
    try:
        said = json.loads((folder / _WORD).read_text(encoding="utf-8"))
        is_at_work, copy, digest = (said.pop(key) for key in ("is_at_work", "copy", "digest"))
        return SeenRun(
            process=Process(**said), is_at_work=bool(is_at_work), root=root, copy=folder / str(copy), digest=str(digest)
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _copy_files(root: Path, copy: Path) -> None:
    # What is in the project is nobody else's business.
    copy.mkdir(parents=True, mode=0o700)
    for path in project_files(root):
        target = copy / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # Taken away in this moment: then it was not read either, or others see so.
            shutil.copyfile(path, target)


def _contents(folder: Path) -> dict[Path, bytes] | None:
    try:
        return {path.relative_to(folder): path.read_bytes() for path in project_files(folder)}
    except OSError:
        return None
