"""A query over tables that move: what its operators make of the changes is what Spark makes of all rows.

No warehouse is needed for that. Sources are rows at hand, what operators keep lies in tables of a folder, and the view
is a bag of rows to which changes are added.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions

from freshtide.core.tables import SourceReference, SqlQuery
from freshtide.spark.incremental import SIGN, Compiled, KeptStates, NeedsAllError, Plans, Run, When, compiled
from freshtide.spark.incremental.operators import Keys, restricted
from freshtide.spark.incremental.plans import columns, signed
from freshtide.spark.jvm import collected
from freshtide.spark.schemas import quoted
from freshtide.storage import Change, Snapshot, StoredTable, UpdateKind, UpdateRecord
from tests.spark.incremental.content import TABLES, Row, arrow_rows, arrow_schema, moved, row

Content = Mapping[str, list[Row]]
Model = Callable[[Content], Iterable[Row]]
"""The rows of a view, computed another way."""
_IN_FULL = 0.3
"""Of the steps of a view that switches."""
_NAMED = re.compile(rf"\b({'|'.join(TABLES)}) AS ")


class DiffersError(AssertionError):
    """The view is not what the query says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was seen of a query."""

    steps: int
    from_changes: int
    """Steps that were done by what had changed."""


def query_of(text: str) -> SqlQuery:
    """A text that gives each table it names an alias."""
    references = [
        SourceReference(source=found[1], start=found.start(1), end=found.end(1), aliased=True)
        for found in _NAMED.finditer(text)
    ]
    return SqlQuery(text=text, references=tuple(references))


def try_out(
    spark: SparkSession, text: str, *, seed: int, folder: Path, steps: int = 2, switches: bool = False
) -> Outcome:
    """Bring a view of random tables forward step by step; DiffersError where it is not what the query says.

    With `switches` some steps, at random, are computed in full: what was kept before them does not count any more.
    """
    rng = Random(seed)
    content: Content = {name: [row(rng, name) for _ in range(rng.choice((0, 3, 8)))] for name in TABLES}
    contents = [content]
    for _ in range(steps):
        contents.append({name: moved(rng, name, rows) for name, rows in contents[-1].items()})
    in_full = {number for number in range(2, steps + 2) if rng.random() < _IN_FULL} if switches else set()
    return follow(spark, text, contents, folder=folder, in_full=in_full)


def follow(
    spark: SparkSession,
    text: str,
    contents: Sequence[Content],
    *,
    folder: Path,
    model: Model | None = None,
    in_full: Collection[int] = (),
) -> Outcome:
    """The same with these tables, one state after another, those of some numbers in full.

    What a model makes of them is what Spark makes of them.
    """
    schemas = {name: Plans(spark).schema_of(arrow_schema(name)) for name in TABLES}
    view = _View(spark, compiled(spark, query_of(text), schemas), folder)
    before: _Frames | None = None
    for number, content in enumerate(contents, start=1):
        after = _Frames(spark, content)
        expected = _bag(collected(after.result(text)))
        if model is not None and Counter(model(content)) != expected:
            raise DiffersError(f"{text}\nAt step {number} Spark makes {dict(expected)} of it.")
        if number in in_full:
            view.replace(expected)
        else:
            view.bring_forward(before or after, after, number)
        if view.rows != expected:
            missing, extra = dict(expected - view.rows), dict(view.rows - expected)
            raise DiffersError(f"{text}\nAfter step {number} the view lacks {missing} and has {extra} too many.")
        before = after
    return Outcome(steps=len(contents) - 1, from_changes=view.from_changes)


class _Frames:
    """All tables in one state."""

    def __init__(self, spark: SparkSession, content: Content) -> None:
        self._spark = spark
        self.content = content
        self._known: dict[str, DataFrame] = {}

    def of(self, name: str, rows: list[Row] | None = None) -> DataFrame:
        if rows is not None:
            return self._made(name, rows)
        if name not in self._known:
            self._known[name] = self._made(name, self.content[name])
        return self._known[name]

    def result(self, text: str) -> DataFrame:
        """The query, computed by Spark from all rows."""
        for name in {reference.source for reference in query_of(text).references}:
            self.of(name).createOrReplaceTempView(name)
        return self._spark.sql(text)

    def _made(self, name: str, rows: list[Row]) -> DataFrame:
        plans, table = Plans(self._spark), arrow_rows(name, rows)
        return plans.local(table, plans.schema_of(table.schema))


class _Sources:
    """The tables in two states."""

    def __init__(self, before: _Frames, after: _Frames) -> None:
        self._before = before
        self._after = after

    def changes(self, name: str, columns: Sequence[str]) -> DataFrame | None:
        old, new = (Counter(map(_Told, frames.content[name])) for frames in (self._before, self._after))
        come, gone = ([told.row for told in bag.elements()] for bag in (new - old, old - new))
        if not come and not gone:
            return None
        made = [_named(self._after.of(name, rows), columns) for rows in (come, gone)]
        return signed(made[0], 1).unionAll(signed(made[1], -1))

    def state(self, name: str, columns: Sequence[str], when: When, keys: Keys | None) -> DataFrame:
        frames = self._before if when is When.BEFORE else self._after
        return restricted(_named(frames.of(name), columns), keys)

    def has_few(self) -> bool:
        return True


class _Told:
    """A row that can be counted."""

    def __init__(self, of: Row) -> None:
        self.row = of
        self._value = repr(of)

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Told) and self._value == other._value


class _View:
    """What has become of a view."""

    def __init__(self, spark: SparkSession, made: Compiled, folder: Path) -> None:
        self.rows: Counter[Hashable] = Counter()
        self.from_changes = 0
        self._spark = spark
        self._compiled = made
        self._tables = [StoredTable(folder / f"state{at}", time_column=None) for at in range(len(made.stateful))]
        self._kept: list[Snapshot] | None = None

    def replace(self, rows: Counter[Hashable]) -> None:
        """All of it is computed by the query itself."""
        self.rows, self._kept = rows, None

    def bring_forward(self, before: _Frames, after: _Frames, number: int) -> None:
        try:
            self._refresh(before, after, number)
        except NeedsAllError:
            self._kept = None
            self._refresh(before, after, number)

    def _refresh(self, before: _Frames, after: _Frames, number: int) -> None:
        plans = Plans(self._spark)
        states = KeptStates(plans, self._tables, snapshots=self._kept, number=number)
        run = Run(plans, _Sources(before, after), states)
        rows = _bag(collected(self._compiled.root.state(run, When.AFTER))) if self._kept is None else self._changed(run)
        for operator in self._compiled.stateful:
            operator.prepare(run)
        record = UpdateRecord(number=number, kind=UpdateKind.REFRESH, freshness=0, safe=0, definition="")
        for change in states.changes():
            written = Change(
                record=record,
                at=0.0,
                schema=change.schema,
                add=change.add,
                remove=change.remove,
                replace_all=change.replace_all,
            )
            change.table.commit(written)
        self.from_changes += self._kept is not None
        self._kept = [_snapshot(table) for table in self._tables]
        self.rows = rows

    def _changed(self, run: Run) -> Counter[Hashable]:
        settled = run.settled(self._compiled.root)
        if settled is None:
            return self.rows
        values = settled.values
        coming = [sign > 0 for sign in values.column(SIGN).to_pylist()]
        own = values.drop_columns([SIGN])
        gone = _bag(own.filter(pa.array([not comes for comes in coming])))
        if gone - self.rows:
            raise DiffersError(f"Rows go that the view has not got: {dict(gone - self.rows)}")
        return self.rows - gone + _bag(own.filter(pa.array(coming)))


def _snapshot(table: StoredTable) -> Snapshot:
    snapshot = table.snapshot
    assert snapshot is not None, "all that operators keep is made at once"
    return snapshot


def _named(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    return frame.select(*(functions.col(quoted(name)) for name in names)).toDF(*columns(len(names)))


def _bag(rows: pa.Table) -> Counter[Hashable]:
    values: Iterable[tuple[Any, ...]] = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    return Counter(tuple(map(_comparable, one)) for one in values)


def _comparable(value: Any) -> Hashable:
    """A value that equals another one where Spark's do."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case list():
            return tuple(map(_comparable, value))
        case dict():
            return tuple((name, _comparable(one)) for name, one in value.items())
    return value  # type: ignore[no-any-return]  # whatever else is in a table can be counted
