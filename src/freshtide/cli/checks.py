"""What `freshtide doctor` looks at."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from freshtide.catalog import Catalog, without_password
from freshtide.cli.tablechecks import Finding, check_tables
from freshtide.core.errors import FreshtideError, ProjectError
from freshtide.core.feeds import SocketSource
from freshtide.project import Project, find_project, load_project
from freshtide.runs import Places
from freshtide.scheduling import Scheduler

_OLDEST_PYTHON = (3, 11)
_OLDEST_JAVA = 17
_LEAST_DISK = 2 * 1024**3
_PACKAGES = {"pyspark": "4.1", "deltalake": "1.6.6", "pyarrow": "18.0"}


def check_everything(folder: Path, *, deep: bool = False) -> list[Finding]:
    """Check the machine, and the project if the folder is in one; if `deep`, its tables as well."""
    findings = [_python(), _java(), *_packages(), _scheduler(), _disk(folder)]
    try:
        project = load_project(find_project(folder))
    except ProjectError as error:
        first = error.problems[0]
        more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
        way_out = first.way_out or "`freshtide validate` lists everything."
        findings.append(Finding(check="Project", ok=False, found=f"{first.placed}{more}", way_out=way_out))
        return findings
    findings.append(Finding(check="Project", ok=True, found=f"'{project.settings.name}' in {project.root}"))
    return [*findings, *_folders(project), _catalog(project), *(check_tables(project) if deep else ())]


def _python() -> Finding:
    found = ".".join(str(part) for part in sys.version_info[:3])
    return Finding(
        check="Python",
        ok=sys.version_info >= _OLDEST_PYTHON,
        found=found,
        way_out="Install Python 3.11 or newer and make a new virtual environment with it.",
    )


def _java() -> Finding:
    way_out = "Install Java 17 or newer (on Debian: openjdk-17-jre-headless), or point JAVA_HOME to it."
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        return Finding(check="Java", ok=False, found="not found", way_out=way_out)
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(check="Java", ok=False, found=f"{java} does not run: {error}", way_out=way_out)
    match = re.search(r'version "(\d+)', told)
    found = match[1] if match else "unknown version"
    return Finding(
        check="Java", ok=bool(match) and int(found) >= _OLDEST_JAVA, found=f"{found} ({java})", way_out=way_out
    )


def _packages() -> Iterator[Finding]:
    for name, oldest in _PACKAGES.items():
        way_out = f"Run `pip install --upgrade '{name}>={oldest}'`."
        try:
            found = version(name)
        except PackageNotFoundError:
            yield Finding(check=name, ok=False, found="not installed", way_out=way_out)
            continue
        yield Finding(check=name, ok=_numbers(found) >= _numbers(oldest), found=found, way_out=way_out)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def _scheduler() -> Finding:
    compiled = not inspect.getfile(Scheduler).endswith(".py")
    interpreted = "interpreted: it decides the same, and simulations take twice as long as with a wheel of `make wheel`"
    return Finding(check="Scheduler", ok=True, found="compiled" if compiled else interpreted)


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(_existing(folder)).free
    return Finding(
        check="Disk",
        ok=free >= _LEAST_DISK,
        found=f"{free / 1024**3:.1f} GiB free",
        way_out="Free some space, or set `storage` in freshtide.yml to a folder on a larger disk.",
    )


def _folders(project: Project) -> Iterator[Finding]:
    places = Places(project)
    for name, folder in (("State folder", places.state), ("Table folder", places.tables)):
        yield Finding(
            check=name,
            ok=os.access(_existing(folder), os.W_OK | os.X_OK),
            found=str(folder),
            way_out=f"This user cannot write there: run `chown {os.environ.get('USER', '$USER')} {folder}`.",
        )
    for feed in project.feeds.values():
        if not feed.brings_files:
            # Whether somebody sends is seen when a run listens.
            if isinstance(feed.source, SocketSource) and feed.source.is_open_to_others:
                yield Finding(
                    check=f"Feed '{feed.name}'",
                    ok=False,
                    found=f"everybody who reaches {feed.source.host}:{feed.source.port} may send",
                    way_out="Give it a 'secret', or let it listen on localhost.",
                )
            continue
        parts = (project.root / feed.folder.path).parts
        wild = next((index for index, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
        folder = Path(*parts[:wild])
        exists = folder.exists()
        yield Finding(
            check=f"Feed '{feed.name}'",
            ok=not exists or os.access(folder, os.R_OK | os.X_OK),
            found=f"{folder}{'' if exists else ' (does not exist yet)'}",
            way_out="This user cannot read the folder: change its permissions.",
        )


def _catalog(project: Project) -> Finding:
    try:
        Catalog.open(Places(project).catalog_url).close()
    except FreshtideError as error:
        return Finding(check="Catalog", ok=False, found=error.message, way_out=error.way_out)
    given = project.settings.catalog
    return Finding(check="Catalog", ok=True, found=without_password(given) if given else "SQLite in .freshtide/")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    folder = folder.resolve()
    return next(place for place in (folder, *folder.parents) if place.exists())
