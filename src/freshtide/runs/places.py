"""Where a project keeps what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from freshtide.catalog import folder_of, lease_folder, url_within
from freshtide.project import Project

STATE = ".freshtide"


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and files of a project at work."""

    project: Project

    @property
    def state(self) -> Path:
        return self.project.root / STATE

    @property
    def lock(self) -> Path:
        """Where it is kept who runs the warehouse: with the tables, whichever projects write them."""
        return lease_folder(self.tables)

    @property
    def trace(self) -> Path:
        return self.state / "trace.jsonl"

    @property
    def log(self) -> Path:
        """What went wrong and where, for those who look for the cause."""
        return self.state / "freshtide.log"

    @property
    def trouble(self) -> Path:
        """What is wrong with the surroundings of the run that goes on."""
        return self.state / "trouble.json"

    @property
    def running(self) -> Path:
        return running_in(self.project.root)

    @property
    def flows(self) -> Path:
        """Where runs of flows put what they need until they end; whoever runs next finishes what was interrupted."""
        return self.lock / "flows"

    @property
    def flows_of_earlier_versions(self) -> Path:
        return self.state / "flows"

    @property
    def spool(self) -> Path:
        """Where single rows are kept that a run leaves behind."""
        return self.state / "left-behind"

    @property
    def spark_log(self) -> Path:
        return self.state / "spark.log"

    @property
    def tables(self) -> Path:
        return self.project.root / self.project.settings.storage

    @property
    def catalog_folder(self) -> Path | None:
        """Where the catalog lies, if it is a file."""
        return folder_of(self.catalog_url)

    @property
    def catalog_url(self) -> str:
        given = self.project.settings.catalog
        return url_within(given, self.project.root) if given else f"sqlite:///{self.state / 'catalog.db'}"


def running_in(root: Path) -> Path:
    """Where runs of the project in a folder tell what they run with: to be found without having read the project."""
    return root / STATE / "running"
