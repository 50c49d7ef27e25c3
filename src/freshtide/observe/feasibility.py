"""Whether the tracks suffice for what the project's scheduler promises."""

from __future__ import annotations

from freshtide.catalog import Catalog
from freshtide.core.errors import ProjectError
from freshtide.guarantees import breaches
from freshtide.observe.demands import demands_of
from freshtide.observe.promises import reservations
from freshtide.project import Project, not_to_be_kept, too_few_tracks
from freshtide.scheduling import Load
from freshtide.scheduling.states import ASSUMED_PERIOD


def require_tracks(project: Project, catalog: Catalog) -> None:
    """Refuse to run if the tables whose costs have been learnt do not fit.

    What a table costs that has never been updated is not known: it must be allowed to be learnt.
    """
    settings = project.settings
    if settings.policy.adaptive is not None:
        known = [demand for demand in demands_of(project, catalog).units if demand.known_by == "learnt"]
        if broken := breaches(reservations(known, settings.policy.adaptive, settings.tracks), settings.tracks):
            raise ProjectError(not_to_be_kept(broken))
        return
    loads = []
    rows = catalog.tables.all()
    for table in project.graph.values():
        row = rows.get(table.name)
        if row is not None and row.status == "active" and row.cost.weight > 0.0:
            period = table.period or ASSUMED_PERIOD
            loads.append(Load(table=table.name, period=period, execution=row.cost.expected(period)))
    if not loads:
        return
    shortage = settings.policy.allocation.partition(loads, settings.tracks).shortage
    if shortage is not None:
        raise ProjectError([too_few_tracks(shortage)])
