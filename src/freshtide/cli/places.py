"""From where a command is typed to the project it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from freshtide.catalog import Catalog
from freshtide.project import Project, find_project, load_project
from freshtide.runs import Places

ProjectOption = Annotated[
    Path, typer.Option("--project", "-p", help="A folder of the project.", show_default="this folder")
]
HERE = Path()


def open_project(folder: Path) -> Project:
    return load_project(find_project(folder))


@contextmanager
def looking_at(folder: Path, *, opened: Callable[[str], Catalog] = Catalog.open) -> Iterator[tuple[Project, Catalog]]:
    """The project and its catalog, to read from; with `Catalog.peek` none is created where there is none yet."""
    project = open_project(folder)
    catalog = opened(Places(project).catalog_url)
    try:
        yield project, catalog
    finally:
        catalog.close()
