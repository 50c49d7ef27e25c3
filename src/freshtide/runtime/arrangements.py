"""What of a run hangs on its project: made anew where that changes, while updates that run end with the old one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freshtide.core.events import Event
from freshtide.core.graph import TableGraph
from freshtide.feeds import Signature
from freshtide.project import Changes, Project
from freshtide.runtime.execution import Computer
from freshtide.runtime.units import UnitWorker
from freshtide.scheduling import Reconfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """A project at work."""

    project: Project
    worker: UnitWorker
    computer: Computer

    @property
    def graph(self) -> TableGraph:
        return self.project.graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A changed project that could be at work."""

    changes: Changes
    arrangement: Arrangement


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """A changed project that the catalog is ready for, and what has to be told of it."""

    arrangement: Arrangement
    changes: Changes
    change: Reconfiguration
    """For the scheduler."""
    known: Mapping[str, Mapping[str, Signature]]
    """Files by feed and path that have been seen before, of the feeds that are watched anew."""
    announcements: tuple[Event, ...]
    """Of what waits for tables that were not there before."""
    rebuilds: tuple[Event, ...]
    """Of base tables that are loaded anew: the scheduler knows before it decides anything for the changed project."""
