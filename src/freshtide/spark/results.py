"""What the query of a base table makes of rows, and which of that no table can hold."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from freshtide.core.tables import SqlQuery, Table
from freshtide.spark.queries import Narrowed, evaluate
from freshtide.spark.unstorable import any_of, faults_of_result

_NUMBER = "__number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of a table's query. With `only_storable` they are without the rows that no table can hold.

    That is asked for when one has been met: hardly any query computes such a value out of what fits its feed.
    """

    session: SparkSession
    table: Table
    only_storable: bool = False

    @property
    def can_be_told_apart(self) -> bool:
        """Whether each row of a result comes from one row of a file. Of what a function does nobody can tell."""
        return isinstance(self.table.query, SqlQuery)

    def of(self, rows: Narrowed) -> DataFrame:
        frame = evaluate(self.session, self.table.query, [rows])
        if not self.only_storable:
            return frame
        return _where(frame, f"NOT ({any_of(faults_of_result(frame.schema, self.table.partition_by))})")

    def unstorable(self, rows: Narrowed, *, file: str) -> DataFrame:
        """File, content and reason of what is left out of the rows of a file; the content is what the query gives."""
        frame = evaluate(self.session, self.table.query, [rows])
        faults = faults_of_result(frame.schema, self.table.partition_by)
        return _where(frame, any_of(faults)).select(
            sf.lit(file).alias("file"),
            sf.to_json(sf.struct("*")).alias("content"),
            sf.concat(sf.lit("of what the query gives, "), sf.coalesce(*(fault.told() for fault in faults))).alias(
                "reason"
            ),
        )


def _where(frame: DataFrame, condition: str) -> DataFrame:
    """The rows of a result that meet a condition, asked of no other rows.

    Spark moves a condition down to the query's own, and may then compute what it asks of before it looks whether the
    query keeps the row: a value that only rows which are left out have no answer for would fail the query. Below a
    number that is not determined by the row nothing is moved, as long as the condition is about that number, too.
    """
    numbered = frame.select("*", sf.monotonically_increasing_id().alias(_NUMBER))
    return numbered.where(f"{_NUMBER} >= 0 AND ({condition})").drop(_NUMBER)
