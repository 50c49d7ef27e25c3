"""Surrogate keys: assigned once and for ever, in lookup tables that are committed with the targets of the flow."""

from __future__ import annotations

import threading
from functools import reduce

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import StructType

from freshtide.core.errors import FreshtideError
from freshtide.flows.activities import SurrogateKey
from freshtide.spark.flows.holding import HeldFrame
from freshtide.spark.flows.recordsets import read_whole
from freshtide.spark.flows.schemas import lookup_schema
from freshtide.spark.flows.transforms import production_keys
from freshtide.spark.reading import empty_frame
from freshtide.spark.schemas import quoted
from freshtide.storage import StoredTable

# A union of more parts takes longer to plan than to put them together.
_MOST_PARTS = 8


class UnfitLookupError(FreshtideError):
    """A lookup table that does not fit the activity that looks up in it."""


class Lookup:
    """One lookup table during a run: the keys it holds, and those that have come up since."""

    def __init__(self, table: StoredTable, activity: SurrogateKey, incoming: StructType, session: SparkSession) -> None:
        self.table = table
        self.schema = lookup_schema(activity, incoming)
        self._key = [quoted(name) for name in activity.key]
        self._column = activity.column
        self._session = session
        self._new: list[HeldFrame] = []
        self._lock = threading.Lock()
        self._stored, self._next = self._read()

    def assign(self, activity: SurrogateKey, frame: DataFrame) -> DataFrame:
        """All keys, with those of the frame among them."""
        with self._lock:
            # Those that are known are sorted out first: on most days that leaves next to none to be told apart.
            fresh = production_keys(activity, frame).join(self._known(), list(activity.key), "anti").distinct()
            number = F.row_number().over(Window.orderBy(*self._key)) + F.lit(self._next - 1)
            held = HeldFrame(fresh.select(*self._key, number.cast("bigint").alias(self._column)))
            if held.rows:
                self._next += held.rows
                self._add(held)
            else:
                held.release()
            return self._known()

    def new_keys(self) -> DataFrame | None:
        """Those that the table does not hold yet."""
        return reduce(DataFrame.unionByName, (held.frame for held in self._new)) if self._new else None

    def release(self) -> None:
        for held in self._new:
            held.release()

    def _add(self, held: HeldFrame) -> None:
        self._new.append(held)
        if len(self._new) > _MOST_PARTS:
            together = HeldFrame(reduce(DataFrame.unionByName, (each.frame for each in self._new)).coalesce(2))
            for each in self._new:
                each.release()
            self._new = [together]

    def _known(self) -> DataFrame:
        return reduce(DataFrame.unionByName, (held.frame for held in self._new), self._stored)

    def _read(self) -> tuple[DataFrame, int]:
        """The keys of the table, and the next number."""
        snapshot = self.table.snapshot
        if snapshot is None or not snapshot.rows:
            return empty_frame(self._session, self.schema), 1
        frame = read_whole(self._session, snapshot)
        wanted = {field.name: field.dataType for field in self.schema}
        if {field.name: field.dataType for field in frame.schema} != wanted:
            raise UnfitLookupError(
                f"The lookup table '{self.table.name}' has other columns than are looked up in it: "
                f"{', '.join(frame.columns)} instead of {', '.join(wanted)}, or of other types.",
                way_out="Give the activity a lookup table of its own, or cast the key with an expression before.",
            )
        (largest,) = frame.agg(F.max(quoted(self._column))).first() or (None,)
        return frame, (largest or 0) + 1
