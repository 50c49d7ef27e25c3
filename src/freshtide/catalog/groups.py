"""What the updates of each update group cost, learnt over all its tables together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import bindparam, insert, select, update

from freshtide.catalog.database import Database
from freshtide.catalog.schema import update_groups
from freshtide.core.costs import CostModel

_OF = update_groups.c.name == bindparam("of_group")
_GET = select(update_groups).where(_OF)
_CHANGE = update(update_groups).where(_OF)
_ADD = insert(update_groups)


class GroupCosts:
    """One cost per group, as long as it has the same tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, group: str, tables: Sequence[str]) -> CostModel | None:
        """None where nothing has been learnt of the group with just these tables."""
        with self._database.reading() as connection:
            row = connection.execute(_GET, {"of_group": group}).mappings().first()
        if row is None or row["tables"] != sorted(tables):
            return None
        return CostModel(**row["cost"])

    def put(self, group: str, tables: Sequence[str], cost: CostModel) -> None:
        values = {"tables": sorted(tables), "cost": asdict(cost)}
        with self._database.writing() as connection:
            changed = connection.execute(_CHANGE, {**values, "of_group": group})
            if not changed.rowcount:
                connection.execute(_ADD, {**values, "name": group})
