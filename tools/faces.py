"""A contract for import-linter: packages are imported by their faces.

The face of a package is its `__init__`, that of a subpackage likewise. Who is outside of a package of the root imports
one of these and none of the modules behind them, which may then be cut anew without anybody noticing. That a name is in
the face's `__all__` is what mypy sees to: it takes no other for exported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepImport:
    """An import that goes past a face."""

    file: str
    line: int
    imported: str

    @property
    def face(self) -> str:
        """What could be imported instead."""
        return _parent(self.imported)


class FacesContract(Contract):
    """Options: `root`, the package that it is about, and `open_packages`, all of whose modules are faces, too."""

    type_name = "faces"
    root: Any = fields.StringField()
    open_packages: Any = fields.SetField(subfield=fields.StringField(), required=False, default=frozenset())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - import-linter passes it
        found = list(self._deep_imports(graph))
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for each in check.metadata["found"]:
            output.print_error(f"{each.file}:{each.line} imports {each.imported}, not {each.face}", bold=False)
        output.new_line()
        output.print_error("Import from the package, and export there what is wanted outside.", bold=False)

    def _deep_imports(self, graph: ImportGraph) -> Iterator[DeepImport]:
        for importer in sorted(graph.find_descendants(self.root)):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                if not self._is_behind_a_face(imported, graph) or self._house(imported) == self._house(importer):
                    continue
                for detail in graph.get_import_details(importer=importer, imported=imported):
                    yield DeepImport(file=_file(importer, graph), line=detail["line_number"], imported=imported)

    def _is_behind_a_face(self, module: str, graph: ImportGraph) -> bool:
        if self._house(module) in {None, module} or graph.find_children(module):
            return False
        return not any(module.startswith(f"{package}.") for package in self.open_packages)

    def _house(self, module: str) -> str | None:
        """The package of the root that a module is in; None where it is not in the root."""
        root, _, rest = module.partition(f"{self.root}.")
        return None if root or not rest else f"{self.root}.{rest.partition('.')[0]}"


def _parent(module: str) -> str:
    return module.rpartition(".")[0]


def _file(module: str, graph: ImportGraph) -> str:
    return module.replace(".", "/") + ("/__init__.py" if graph.find_children(module) else ".py")
