"""The folder flows/ of a project: flows in YAML, flows in Python, and the functions that those in YAML use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from freshtide.core.errors import FreshtideError, Origin, Problem, ProjectError, UsageError, suggestion
from freshtide.flows import Flow, FlowGraph, Node, node_problems
from freshtide.project.declarations import Declarations
from freshtide.project.flows.flowfile import read_flow
from freshtide.project.notation.names import relative_name
from freshtide.project.notation.yamlfile import read_yaml
from freshtide.project.tables.pythonfile import run_python

FLOWS = "flows"


class FlowFolder:
    """Reads the files of flows/, each Python file once."""

    def __init__(self, root: Path, declarations: Declarations) -> None:
        self._root = root
        self._declarations = declarations
        self._modules: dict[Path, Mapping[str, object] | None] = {}
        """What running a file has defined; None where it failed."""

    def declare_python(self, path: Path) -> None:
        """Declare each `Flow` that a name of the file stands for."""
        module = self._module(path) or {}
        found = {id(each): each for each in module.values() if isinstance(each, Flow)}
        for flow in found.values():
            # One that was imported is declared where it comes from.
            if flow.origin is not None and Path(flow.origin.file).resolve() == path.resolve():
                nodes = [replace(node, origin=self._within_project(node.origin)) for node in flow.nodes]
                self._declare(flow.name, nodes, self._within_project(flow.origin))

    def declare_yaml(self, path: Path) -> None:
        try:
            file = read_yaml(path, self._root)
        except ProjectError as error:
            self._spoil(path.stem, error.problems)
            return
        flow, problems = read_flow(file, default_name=path.stem, find_function=self._function)
        if flow is None:
            self._spoil(path.stem, problems)
            return
        name, nodes = flow
        self._declare(name, nodes, file.origin())

    def _declare(self, name: str, nodes: Sequence[Node], origin: Origin | None) -> None:
        problems = node_problems(name, nodes, origin=origin)
        if problems:
            self._spoil(name, problems)
            return
        graph = FlowGraph(name=name, nodes={node.name: node for node in nodes}, origin=origin)
        self._declarations.add_flow(graph)

    def _spoil(self, name: str, problems: Iterable[Problem]) -> None:
        self._declarations.reject(problems)
        self._declarations.spoiled_flows.add(name.lower())

    def _function(self, written: str) -> Callable[[Any], Any]:
        """The function `module.py:function` of this folder."""
        file, colon, name = written.partition(":")
        path = self._root / FLOWS / file
        if not colon or path.suffix != ".py":
            message = f"'{written}' does not name a function."
            raise UsageError(message, way_out="Write the file in flows/ and the function, like cleaning.py:trimmed.")
        if not path.is_file():
            there = [each.relative_to(self._root / FLOWS).as_posix() for each in (self._root / FLOWS).rglob("*.py")]
            raise UsageError(f"There is no file '{file}' in {FLOWS}/.", way_out=suggestion(file, there))
        module = self._module(path)
        if module is None:
            raise FreshtideError(f"'{written}' is not there: running its file failed.", way_out="Mend the file first.")
        function = module.get(name)
        if not callable(function):
            functions = [each for each, value in module.items() if callable(value) and not each.startswith("_")]
            raise UsageError(f"There is no function '{name}' in {FLOWS}/{file}.", way_out=suggestion(name, functions))
        return function

    def _module(self, path: Path) -> Mapping[str, object] | None:
        if path not in self._modules:
            module, problems = run_python(path, self._root)
            self._declarations.reject(problems)
            self._modules[path] = module
        return self._modules[path]

    def _within_project(self, origin: Origin | None) -> Origin | None:
        return None if origin is None else replace(origin, file=relative_name(Path(origin.file), self._root))
