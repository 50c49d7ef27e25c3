"""The guards and what stands in their place without them: `mutations/*.toml`, a file for each part of the page."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guards.promises import PAGE, ROOT, NamedTest, Promise, promises

MUTATIONS = Path(__file__).parent / "mutations"
SOURCE = ROOT / "src"


class MutationError(Exception):
    """A mutation that cannot be tried: it fits no source, no promise or no test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Lines of a file below `src/freshtide/`, and what takes their place."""

    file: str
    old: str
    new: str

    def applied(self, text: str) -> str:
        if (found := text.count(self.old)) != 1:
            raise MutationError(f"src/freshtide/{self.file} has this {found} times, and not once:\n{self.old}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What keeps a promise, how it is taken out, and the tests that must see that."""

    promise: Promise
    because: str
    tests: tuple[NamedTest, ...]
    edits: tuple[Edit, ...]

    def mutants(self) -> dict[str, str]:
        """The files that are others without the guard, by their paths below `src/freshtide/`."""
        found: dict[str, str] = {}
        for edit in self.edits:
            path = SOURCE / "freshtide" / edit.file
            if not path.is_file():
                raise MutationError(f"there is no src/freshtide/{edit.file}")
            found[edit.file] = edit.applied(found.get(edit.file) or path.read_text(encoding="utf-8"))
        return found

    def taken_out(self, folder: Path) -> Path:
        """A copy of the source without the guard, below a folder."""
        # With the compiled files: their sources keep their times, and only what is changed is compiled again.
        source = Path(shutil.copytree(SOURCE, folder / "src"))
        for file, text in self.mutants().items():
            (source / "freshtide" / file).write_text(text, encoding="utf-8")
        require_programs(source / "freshtide" / edit.file for edit in self.edits)
        return source


def require_programs(files: Iterable[Path]) -> None:
    """A mutant that is no Python, or has forgotten a name, would fail any test: often as an update that is given up."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", "--select", "E9,F821"]
    checked = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    if checked.returncode != 0:
        raise MutationError(f"the mutant is no program:\n{checked.stdout}{checked.stderr}")


def guards(folder: Path = MUTATIONS, page: Path = PAGE) -> list[Guard]:
    """All guards, in the order of the page; one of a promise that the page does not have is an error."""
    described: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["guard"]:
            described.setdefault(entry.pop("promise"), []).append(entry)
    promised = promises(page.read_text(encoding="utf-8"))
    if strangers := described.keys() - {promise.text for promise in promised}:
        raise MutationError(f"docs/guarantees.md does not promise: {', '.join(sorted(strangers))}")
    return [_guard(promise, **entry) for promise in promised for entry in described.get(promise.text, ())]


def unguarded(page: Path = PAGE) -> list[str]:
    """Promises of which nobody has said what keeps them."""
    kept = {guard.promise.text for guard in guards(page=page)}
    return [promise.text for promise in promises(page.read_text(encoding="utf-8")) if promise.text not in kept]


def _guard(
    promise: Promise, *, because: str, edits: Sequence[dict[str, str]], tests: Sequence[str] | None = None
) -> Guard:
    return Guard(
        promise=promise,
        because=because,
        tests=tuple(sorted(_chosen(promise, tests), key=lambda test: test.needs_spark)),
        edits=tuple(Edit(**edit) for edit in edits),
    )


def _chosen(promise: Promise, functions: Sequence[str] | None) -> list[NamedTest]:
    """The tests of a promise that a guard names; without any, all of them."""
    if functions is None:
        return list(promise.tests)
    known = {test.function: test for test in promise.tests}
    files = [test.file for test in promise.tests if test.function is None]
    if len(files) == 1:
        return [known.get(name, NamedTest(file=files[0], function=name)) for name in functions]
    if unknown := [name for name in functions if name not in known]:
        raise MutationError(f"'{promise.text}' names no test {', '.join(unknown)}")
    return [known[name] for name in functions]
