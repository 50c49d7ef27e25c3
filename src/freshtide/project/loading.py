"""A folder to a project: reads every file, so that everything that is wrong is told at once."""

from __future__ import annotations

from pathlib import Path

from freshtide.core.errors import Origin, Problem, ProjectError
from freshtide.project.assembly import Project, assemble
from freshtide.project.declarations import Declarations
from freshtide.project.feeds.feedfile import read_feed
from freshtide.project.flows.folder import FLOWS, FlowFolder
from freshtide.project.notation.names import relative_name
from freshtide.project.notation.validation import Place
from freshtide.project.notation.variables import filled_in
from freshtide.project.notation.yamlfile import YamlFile, read_yaml
from freshtide.project.seeds import declare_seeds, seed_files
from freshtide.project.settings.settings import Settings, read_settings
from freshtide.project.tables.pythonfile import declare_python
from freshtide.project.tables.sqlfile import declare_sql

PROJECT_FILE = "freshtide.yml"
_READ = (".yml", ".yaml", ".sql", ".py")


def find_project(start: Path) -> Path:
    """The root of the project that a folder is part of: it or the nearest one above with freshtide.yml."""
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / PROJECT_FILE).is_file():
            return candidate
    raise ProjectError([_no_project(f"There is no {PROJECT_FILE} in {folder} or above it.")])


def load_project(root: Path, *, files: Path | None = None) -> Project:
    """The project in a folder, or a ProjectError with everything that is wrong with it.

    It is read from `files`, a folder with a copy of its files as they once were, if that is given.
    """
    root = root.resolve()
    folder = root if files is None else files.resolve()
    if not (folder / PROJECT_FILE).is_file():
        raise ProjectError([_no_project(f"There is no {PROJECT_FILE} in {folder}.")])
    declarations = Declarations()
    settings = _settings(folder, root, declarations)
    for path in _files(folder / "feeds", ".yml", ".yaml"):
        _declare_feeds(path, folder, root, declarations)
    for path in _files(folder / "tables", ".sql", ".py"):
        if path.suffix == ".py":
            declare_python(path, folder, declarations)
        else:
            _declare_sql(path, folder, declarations)
    declare_seeds(folder, root, declarations)
    flows = FlowFolder(folder, declarations)
    for path in _files(folder / FLOWS, ".yml", ".yaml", ".py"):
        if path.suffix == ".py":
            flows.declare_python(path)
        else:
            flows.declare_yaml(path)
    return assemble(declarations, settings, root)


def project_files(root: Path) -> list[Path]:
    """The files that a project is read from, and those beside them that they may import."""
    below = [path for folder in ("feeds", "tables", FLOWS) for path in _files(root / folder, *_READ)]
    below += seed_files(root)
    return [path for path in sorted(root.glob("*")) if path.suffix in _READ and path.is_file()] + below


def _settings(folder: Path, root: Path, declarations: Declarations) -> Settings:
    try:
        return read_settings(filled_in(read_yaml(folder / PROJECT_FILE, folder), root), default_name=root.name)
    except ProjectError as error:
        declarations.reject(error.problems)
        # A stand-in, so that the rest is checked too: with these problems no project comes out.
        return Settings(name=root.name)


def _declare_feeds(path: Path, folder: Path, root: Path, declarations: Declarations) -> None:
    try:
        file = filled_in(read_yaml(path, folder), root)
    except ProjectError as error:
        declarations.reject(error.problems, names=[path.stem])
        return
    if not isinstance(file.value, dict) or "feeds" not in file.value:
        _declare_feed(file.value, file.origin, declarations, default_name=path.stem)
        return
    feeds = file.value["feeds"]
    if list(file.value) != ["feeds"] or not isinstance(feeds, list):
        message = "'feeds' must be a list of feeds, and the only key of its file."
        way_out = "Write each feed as an item that begins with `- name: ...`."
        declarations.reject([Problem(message=message, origin=file.origin(("feeds",)), way_out=way_out)])
        return
    for index, values in enumerate(feeds):
        _declare_feed(values, _within(file, index), declarations, default_name=None)


def _within(file: YamlFile, index: int) -> Place:
    return lambda path: file.origin(("feeds", index, *path))


def _declare_feed(values: object, place: Place, declarations: Declarations, *, default_name: str | None) -> None:
    feed, problems = read_feed(values, place, default_name=default_name)
    if feed is not None:
        declarations.add_feed(feed)
        return
    name = values.get("name") if isinstance(values, dict) else None
    declarations.reject(problems, names=[str(name or default_name or "")])


def _declare_sql(path: Path, root: Path, declarations: Declarations) -> None:
    file = relative_name(path, root)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = f"The file cannot be read: {error}."
        declarations.reject([Problem(message=message, origin=Origin(file=file))])
        return
    declare_sql(text, file, declarations)


def _files(folder: Path, *suffixes: str) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file())


def _no_project(message: str) -> Problem:
    return Problem(message=message, way_out="Create a project with `freshtide init`.")
