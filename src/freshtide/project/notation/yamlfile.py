"""YAML with line numbers: every key and value remembers where in the file it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from freshtide.core.errors import Origin, Problem, ProjectError
from freshtide.project.notation.names import relative_name

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlFile:
    """The content of a file, and the line of every path of keys and positions in it."""

    file: str
    value: Any
    lines: Mapping[KeyPath, int]

    def origin(self, path: KeyPath = ()) -> Origin:
        """The place of a path, or of the nearest thing around it that is in the file."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return Origin(file=self.file, line=self.lines[path[:length]])
        return Origin(file=self.file)


def read_yaml(path: Path, root: Path) -> YamlFile:
    """Read a YAML file of a project; whatever is wrong with its form is a ProjectError."""
    file = relative_name(path, root)
    try:
        return parse_yaml(path.read_text(encoding="utf-8-sig"), file)
    except (OSError, UnicodeDecodeError) as error:
        message = f"The file cannot be read: {error}."
        raise ProjectError([Problem(message=message, origin=Origin(file=file))]) from error


def parse_yaml(text: str, file: str) -> YamlFile:
    """Read YAML text; `file` is what messages call it."""
    try:
        return _walked(yaml.SafeLoader(text), file)
    except yaml.MarkedYAMLError as error:
        raise ProjectError([_syntax_problem(error, file)]) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"The YAML holds a character that is not allowed: {error.reason}."
        raise ProjectError([Problem(message=message, origin=Origin(file=file, line=line))]) from error


def _walked(loader: yaml.SafeLoader, file: str) -> YamlFile:
    node = loader.get_single_node()
    if node is None:
        return YamlFile(file=file, value=None, lines={(): 1})
    walk = _Walk(file=file, loader=loader, lines={(): node.start_mark.line + 1}, problems=[], within=[])
    value = walk.value(node, ())
    if walk.problems:
        raise ProjectError(walk.problems)
    return YamlFile(file=file, value=value, lines=walk.lines)


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Turns a tree of YAML nodes into plain values, writing down the lines on the way."""

    file: str
    loader: yaml.SafeLoader
    lines: dict[KeyPath, int]
    problems: list[Problem]
    within: list[yaml.Node]

    def value(self, node: yaml.Node, path: KeyPath) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if node in self.within:
            self._report("The YAML contains itself through an alias.", node.start_mark.line + 1)
            return None
        self.within.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self._placed(item, (*path, index)) for index, item in enumerate(node.value)]
        finally:
            self.within.pop()

    def _placed(self, node: yaml.Node, path: KeyPath) -> Any:
        self.lines[path] = node.start_mark.line + 1
        return self.value(node, path)

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        try:
            return self.loader.construct_object(node)
        except ValueError as error:  # 2026-13-45 looks like a date and is none
            self._report(f"'{node.value}' cannot be read: {error}.", node.start_mark.line + 1)
            return None

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        first: dict[str, int] = {}
        for key, line in self._keys(node):
            if key in first and key != "<<":
                self._report(f"'{key}' is given twice, first in line {first[key]}.", line, way_out="Keep one of them.")
            first.setdefault(key, line)
        self.loader.flatten_mapping(node)
        values: dict[str, Any] = {}
        for (key, line), (_, child) in zip(list(self._keys(node)), node.value, strict=True):
            self.lines[(*path, key)] = line
            values[key] = self.value(child, (*path, key))
        return values

    def _keys(self, node: yaml.MappingNode) -> Iterator[tuple[str, int]]:
        """Keys as they are written: YAML's idea that `on` and `no` are booleans helps no column name."""
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode):
                yield key.value, line
            else:
                self._report("A key must be a plain word.", line)
                yield "", line

    def _report(self, message: str, line: int, *, way_out: str | None = None) -> None:
        problem = Problem(message=message, origin=Origin(file=self.file, line=line), way_out=way_out)
        if problem not in self.problems:
            self.problems.append(problem)


def _syntax_problem(error: yaml.MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    said = error.problem or error.context or "it cannot be understood"
    line = mark.line + 1 if mark else 1
    way_out = None
    if error.context and error.context_mark and error.context_mark.line + 1 != line:
        way_out = f"This was {error.context} that began in line {error.context_mark.line + 1}."
    if "'\\t'" in said:
        way_out = "Indent with spaces: YAML takes no tabs."
    return Problem(message=f"The YAML is broken: {said}.", origin=Origin(file=file, line=line), way_out=way_out)
