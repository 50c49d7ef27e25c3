"""The tables and the flows of a project, opened."""

from __future__ import annotations

from freshtide.project import Project
from freshtide.runs import Places
from freshtide.spark import LoadingFlows
from freshtide.storage import DeltaLogs, Store
from freshtide.world import Disk


def open_store(project: Project, disk: Disk | None = None, logs: DeltaLogs | None = None) -> Store:
    """The tables; each with its time column, even where a flow is the first to ask for it."""
    columns = {table.name: table.time_column for table in project.graph.values()}
    late = {f"{table.name}__late": table.time_column for table in project.graph.values() if table.is_base}
    return Store(Places(project).tables, time_columns={**columns, **late}, disk=disk, logs=logs)


def loading_flows(project: Project, store: Store) -> LoadingFlows:
    return LoadingFlows(
        flows=project.flows,
        store=store,
        root=project.root,
        scratch=Places(project).flows,
        policy=project.settings.flow_policy,
    )
