"""One refresh from changes: what has changed below each operator, computed once, and what becomes of what is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from freshtide.spark.incremental.arrowrows import left_over
from freshtide.spark.incremental.operators import Keys, Operator, When, consolidated, key_column, union
from freshtide.spark.incremental.plans import SIGN, Plans, columns
from freshtide.spark.jvm import collected

if TYPE_CHECKING:
    from freshtide.spark.incremental.states import KeptStates


class Sources(Protocol):
    """The sources of a view, as it has seen them and as it is to see them; columns are called by their places."""

    def changes(self, name: str, columns: Sequence[str]) -> DataFrame | None:
        """Rows that have come and gone, with their signs; None: none has."""
        ...

    def state(self, name: str, columns: Sequence[str], when: When, keys: Keys | None) -> DataFrame:
        """All rows, or those of some keys."""
        ...

    def has_few(self) -> bool:
        """Whether so little has changed that it is not worth being spread over threads."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Rows that were computed once and are at hand."""

    values: pa.Table
    handed: Callable[[], DataFrame]
    """The same for Spark."""


class Run:
    """What the operators of a query share while their view is brought forward."""

    def __init__(self, plans: Plans, sources: Sources, states: KeptStates) -> None:
        self.plans = plans
        self.sources = sources
        self.states = states
        self.sign = plans.sign
        self._settled: dict[int, Settled | None] = {}

    def settled(self, operator: Operator) -> Settled | None:
        """What has changed of an operator's rows, without what has come and gone; None: nothing has."""
        found = id(operator)
        if found not in self._settled:
            changes = operator.changes(self)
            self._settled[found] = None if changes is None else self._settle(changes, operator.width)
        return self._settled[found]

    def collected(self, frame: DataFrame) -> pa.Table:
        return collected(frame)

    def at_hand(self, values: pa.Table, schema: StructType) -> DataFrame:
        """Rows that were collected."""
        return self.plans.local(values, schema)

    def keys(self, *found: pa.Table) -> Keys:
        """All values that are in one of the tables."""
        names = [key_column(at) for at in range(found[0].num_columns)]
        together = self._together(found)
        schema = self.plans.schema_of(together.schema)
        if not names:
            return Keys(places=(), values=together, handed=self.plans.session.range(1).select)
        try:
            values = together.group_by(names).aggregate([])
        except pa.ArrowNotImplementedError:
            # Values that consist of others.
            values = collected(self.at_hand(together, schema).distinct())
        handed = cache(lambda: self.at_hand(values, schema))
        return Keys(places=tuple(range(len(names))), values=values, handed=handed)

    def _together(self, found: Sequence[pa.Table]) -> pa.Table:
        first, *others = found
        if all(other.schema.equals(first.schema) for other in others):
            return pa.concat_tables(found)
        # One side may lack values and the other one cannot: Spark knows a type that holds both.
        return collected(union([self.at_hand(one, self.plans.schema_of(one.schema)) for one in found]))

    def _settle(self, changes: DataFrame, width: int) -> Settled | None:
        values, schema = collected(changes), changes.schema
        signs = values.column(SIGN).to_numpy()
        if values.num_rows and signs.min() != signs.max():
            try:
                values, _ = left_over(values, signs, columns(width))
            except pa.ArrowNotImplementedError:
                values = collected(consolidated(self.at_hand(values, schema), width))
        return Settled(values=values, handed=cache(lambda: self.at_hand(values, schema))) if values.num_rows else None
