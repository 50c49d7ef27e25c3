"""`${NAME}`, `${NAME:-default}` and `${file:/run/secrets/name}` in YAML: what does not belong into a project."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from freshtide.core.errors import Problem, ProjectError
from freshtide.core.secrets import hide, is_secret_name
from freshtide.project.notation.yamlfile import KeyPath, YamlFile

_PLACE = re.compile(r"\$\$(?=\{)|\$\{(?P<inside>[^{}]*)\}")
_NAME = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)
_FILE = "file:"
_WAY_OUT = "Write ${NAME}, ${NAME:-default} or ${file:/path}; $${ stands for ${ itself."


def filled_in(file: YamlFile, root: Path) -> YamlFile:
    """The file with its variables filled in; paths of secrets are relative to the project."""
    filling = _Filling(file=file, root=root)
    value = filling.value(file.value, ())
    if filling.problems:
        raise ProjectError(filling.problems)
    return replace(file, value=value)


@dataclass(slots=True, kw_only=True)
class _Filling:
    file: YamlFile
    root: Path
    problems: list[Problem] = field(default_factory=list)

    def value(self, value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            return {key: self.value(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, (*path, index)) for index, inner in enumerate(value)]
        if not isinstance(value, str) or "$" not in value:
            return value
        return _PLACE.sub(self._filler(path), value)

    def _filler(self, path: KeyPath) -> Callable[[re.Match[str]], str]:
        def fill(found: re.Match[str]) -> str:
            inside = found["inside"]
            if inside is None:
                return "$"
            return self._from_file(inside, path) if inside.startswith(_FILE) else self._from_environment(inside, path)

        return fill

    def _from_file(self, inside: str, path: KeyPath) -> str:
        place = self.root / inside.removeprefix(_FILE)
        try:
            # Editors and `echo` end a file with a new line that is no part of the secret.
            secret = place.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            return self._report(path, f"The secret in {place} cannot be read: {why}.", "Let this user read the file.")
        hide(secret)
        return secret

    def _from_environment(self, inside: str, path: KeyPath) -> str:
        written = _NAME.fullmatch(inside)
        if written is None:
            return self._report(path, f"'${{{inside}}}' cannot be understood.", _WAY_OUT)
        name, value = written["name"], os.environ.get(written["name"]) or written["default"]
        if value is None:
            message = f"The environment variable {name} is not set."
            return self._report(path, message, f"Set it, or write ${{{name}:-default}}.")
        if is_secret_name(name):
            hide(value)
        return value

    def _report(self, path: KeyPath, message: str, way_out: str) -> str:
        self.problems.append(Problem(message=message, origin=self.file.origin(path), way_out=way_out))
        return ""
