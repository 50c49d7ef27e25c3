"""What the updates of each update group cost, learnt over all its tables together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Engine, insert, select, update

from freshtide.catalog.schema import update_groups
from freshtide.core.costs import CostModel


class GroupCosts:
    """One cost per group, as long as it has the same tables."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, group: str, tables: Sequence[str]) -> CostModel | None:
        """None where nothing has been learnt of the group with just these tables."""
        with self._engine.connect() as connection:
            row = connection.execute(select(update_groups).where(update_groups.c.name == group)).mappings().first()
        if row is None or row["tables"] != sorted(tables):
            return None
        return CostModel(**row["cost"])

    def put(self, group: str, tables: Sequence[str], cost: CostModel) -> None:
        values = {"tables": sorted(tables), "cost": asdict(cost)}
        with self._engine.begin() as connection:
            changed = connection.execute(update(update_groups).where(update_groups.c.name == group).values(values))
            if not changed.rowcount:
                connection.execute(insert(update_groups).values(name=group, **values))
