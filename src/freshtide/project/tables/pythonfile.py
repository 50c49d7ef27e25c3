"""Tables and flows in Python: running the files of tables/*.py and flows/*.py."""

from __future__ import annotations

import hashlib
import importlib.util
import linecache
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import SourceFileLoader
from pathlib import Path

from freshtide.core.errors import FreshtideError, Origin, Problem
from freshtide.project.declarations import Declarations
from freshtide.project.notation.names import relative_name
from freshtide.project.tables.decorators import collecting

_PROBABLY_DECLARED = re.compile(r"""\bdef\s+(\w+)|\bfeed\(\s*["'](\w+)|\bname\s*=\s*["'](\w+)""")


def declare_python(path: Path, root: Path, declarations: Declarations) -> None:
    """Run a file of the project, with the decorators declaring into `declarations`."""
    with collecting(declarations, root):
        module, problems = run_python(path, root)
    if module is None:
        found = _PROBABLY_DECLARED.findall(path.read_text(encoding="utf-8", errors="replace"))
        declarations.reject(problems, names={name for groups in found for name in groups if name})


def run_python(path: Path, root: Path) -> tuple[Mapping[str, object] | None, list[Problem]]:
    """What a file of the project defines; or None and why running it failed."""
    try:
        with _importable(root):
            return _run(path), []
    except (Exception, SystemExit) as error:
        return None, [_problem(error, path, root)]


def _run(path: Path) -> Mapping[str, object]:
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    name = f"freshtide_project_{path.stem}_{digest}"
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None, "a loader is given"
    module = importlib.util.module_from_spec(spec)
    # Compiled anew each time: cached bytecode is told apart by seconds, and a file can be saved twice in one.
    linecache.checkcache(str(path))
    code = loader.source_to_code(loader.get_data(str(path)), str(path))
    sys.modules[name] = module
    try:
        # Standard output belongs to the command that reads the project: it may have to be JSON.
        with redirect_stdout(sys.stderr):
            exec(code, module.__dict__)
    finally:
        # What is not among the modules is sent to Spark's workers by value: they cannot import it.
        del sys.modules[name]
    return vars(module)


@contextmanager
def _importable(root: Path) -> Iterator[None]:
    """Let files of the project import each other, and forget them after, so that projects do not mix."""
    folder = str(root.resolve())
    if folder in sys.path:
        yield
        return
    before = set(sys.modules)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            if _is_of(name, Path(folder)):
                del sys.modules[name]


def _is_of(name: str, folder: Path) -> bool:
    """Whether a module was found in the project itself, and not in an environment that lies within it."""
    file = getattr(sys.modules[name], "__file__", None)
    stem = folder.joinpath(*name.split("."))
    return file is not None and Path(file) in (stem.with_suffix(".py"), stem / "__init__.py")


def _is_users(file: Path, root: Path) -> bool:
    return file.resolve().is_relative_to(root.resolve()) and "site-packages" not in file.parts


def _problem(error: BaseException, path: Path, root: Path) -> Problem:
    file, line = path, 1
    if isinstance(error, SyntaxError) and error.filename:
        file, line = Path(error.filename), error.lineno or 1
    else:
        # The last of the user's own lines: below it there is only what it called.
        for frame in traceback.extract_tb(error.__traceback__):
            if _is_users(Path(frame.filename), root):
                file, line = Path(frame.filename), frame.lineno or 1
    origin = Origin(file=relative_name(file, root), line=line)
    if isinstance(error, FreshtideError):
        return Problem(message=error.message, origin=origin, way_out=error.way_out)
    if isinstance(error, SyntaxError):
        return Problem(message=f"The Python is broken: {error.msg}.", origin=origin)
    if isinstance(error, SystemExit):
        return Problem(message="The file ends the program.", origin=origin, way_out="Take sys.exit() out.")
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    way_out = None
    if isinstance(error, ModuleNotFoundError):
        way_out = "Install the package where Freshtide is installed, or mend the import."
    return Problem(message=f"Running the file failed with {said.rstrip('.')}.", origin=origin, way_out=way_out)
