"""The project that `freshtide init` creates: small, complete, and running as it is."""

from __future__ import annotations

import json
from pathlib import Path

from freshtide.core.errors import FreshtideError
from freshtide.core.paths import path_fault

_STARTER = Path(__file__).parent / "templates" / "starter"
_SUFFIX = ".template"
"""Ends the names of files that have places to fill in, or that tools must not take for their own."""


class StarterError(FreshtideError):
    """A starter project cannot be created in this folder."""


def create_starter(folder: Path, name: str) -> list[Path]:
    """Fill a folder with the starter project; the files that were written, sorted."""
    if fault := path_fault(str(folder)):
        raise StarterError(fault[0], way_out=fault[1])
    targets = {folder / _target(source.relative_to(_STARTER)): source for source in _files()}
    targets = {target: source for target, source in targets.items() if not _is_kept(target)}
    if (folder / "freshtide.yml").exists():
        raise StarterError(f"{folder} is a Freshtide project already.", way_out="Choose another folder.")
    for target in sorted(targets):
        if target.exists():
            raise StarterError(f"{target} exists already.", way_out="Choose a new or empty folder.")
    for target, source in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8")
        # Quoted as JSON, which YAML understands, the name may hold anything.
        shown = json.dumps(name, ensure_ascii=False) if target.name == "freshtide.yml" else name
        target.write_text(text.replace("{{name}}", shown), encoding="utf-8")
    return sorted(targets)


def _is_kept(target: Path) -> bool:
    """A fresh repository comes with these: they stay the user's own."""
    return target.name in ("README.md", ".gitignore") and target.exists()


def _files() -> list[Path]:
    return [path for path in sorted(_STARTER.rglob("*")) if path.is_file()]


def _target(source: Path) -> Path:
    if source.name == f"gitignore{_SUFFIX}":
        return source.with_name(".gitignore")
    return source.with_name(source.name.removesuffix(_SUFFIX))
