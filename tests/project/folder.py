"""A project in a temporary folder, written file by file."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from freshtide.core.errors import Problem, ProjectError
from freshtide.project import Project, load_project

CPU_FEED = """\
path: landing/cpu/*.csv
format: csv
schema:
  time: timestamp
  router: string not null
  cpu: double
time_column: time
period: 5m
"""
CPU_TABLE = "CREATE STREAMING TABLE cpu AS SELECT time, router, cpu FROM STREAM cpu_feed;\n"


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """Files in a folder; `load` reads them as a user's project."""

    root: Path

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def load(self) -> Project:
        return load_project(self.root)

    def problems(self) -> tuple[Problem, ...]:
        with pytest.raises(ProjectError) as caught:
            self.load()
        return caught.value.problems

    def problem(self) -> str:
        """The only problem, with its place and way out, as users see it."""
        (problem,) = self.problems()
        return str(problem)
