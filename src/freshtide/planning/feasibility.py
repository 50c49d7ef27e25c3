"""Whether the tracks suffice for what the project's scheduler promises."""

from __future__ import annotations

from freshtide.catalog import Catalog
from freshtide.core.costs import CostModel
from freshtide.core.errors import ProjectError
from freshtide.guarantees import breaches
from freshtide.planning.bounds import reservations
from freshtide.planning.demands import demands_of
from freshtide.project import Project, not_to_be_kept, too_few_tracks
from freshtide.scheduling import ASSUMED_PERIOD, Load


def require_tracks(project: Project, catalog: Catalog) -> None:
    """Refuse to run if the tables do not fit.

    What a table costs that has never been updated is not known: where costs count, it must be allowed to be learnt.
    """
    settings = project.settings
    if settings.policy.adaptive is not None:
        known = [demand for demand in demands_of(project, catalog).units if demand.known_by == "learnt"]
        if broken := breaches(reservations(known, settings.policy.adaptive, settings.tracks), settings.tracks):
            raise ProjectError(not_to_be_kept(broken))
        return
    allocation, tracks = settings.policy.allocation, settings.tracks
    loads = []
    rows = catalog.tables.all()
    for table in project.graph.values():
        row = rows.get(table.name)
        if row is not None and row.status != "active":
            continue
        cost = CostModel() if row is None else row.cost
        if cost.weight > 0.0 or not allocation.weighs_costs:
            period = table.period or ASSUMED_PERIOD
            loads.append(Load(table=table.name, period=period, execution=cost.expected(period)))
    if not loads:
        return
    shortage = allocation.partition(loads, tracks).shortage
    if shortage is not None:
        raise ProjectError([too_few_tracks(allocation, shortage)])
