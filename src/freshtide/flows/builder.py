"""Flows in Python: a `Flow` is read from, and each activity gives `Rows` that the next one is made of.

flow = Flow("part_suppliers")
parts = flow.read(files="landing/partsupp/*.csv", format="csv", schema={...})
complete = parts.not_null("ps_partkey")
complete.expression(total="ps_supplycost * ps_availqty").write(table="part_suppliers")
complete.quarantine.write(table="part_suppliers_without_key")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from freshtide.core.errors import Origin, ProjectError, UsageError, suggestion
from freshtide.flows.activities import (
    OTHERWISE,
    OUT,
    QUARANTINE,
    Activity,
    Aggregate,
    Deduplicate,
    Difference,
    Expression,
    Filter,
    Function,
    Join,
    NotNull,
    Pivot,
    Read,
    Recordset,
    Router,
    SlowlyChanging,
    Sort,
    SortedUnion,
    SurrogateKey,
    Union,
    Write,
)
from freshtide.flows.graph import FlowGraph, Node
from freshtide.flows.structure import node_problems

Names = str | list[str] | tuple[str, ...]
"""One column, or several."""
Columns = Mapping[str, str]
"""Name to SQL; a column that is called like a parameter of a method is given in a mapping."""


class Flow:
    """A flow as it is declared, activity by activity."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.origin = _caller()

    def read(
        self,
        *,
        table: str | None = None,
        files: str | None = None,
        feed: str | None = None,
        format: str = "parquet",  # noqa: A002  the key that feeds and flow files use too
        schema: Columns | None = None,
        options: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> Rows:
        """The rows of a table of the warehouse, or of files, or of what has arrived in a feed."""
        source = Recordset(
            table=table, files=files, feed=feed, format=format, schema=schema, options=dict(options or {})
        )
        return Rows(self, self.add(Read(source=source), name=name))

    def graph(self) -> FlowGraph:
        """The whole flow, or a ProjectError with everything that is wrong with it."""
        problems = node_problems(self.name, self.nodes, origin=self.origin)
        if problems:
            raise ProjectError(problems)
        return FlowGraph(name=self.name, nodes={node.name: node for node in self.nodes}, origin=self.origin)

    def add(self, activity: Activity, *inputs: Rows, name: str | None = None) -> str:
        """Put an activity behind others; its name, made up of kind and number where none is given."""
        for rows in inputs:
            if rows.flow is not self:
                raise UsageError(
                    f"'{rows.label}' belongs to the flow '{rows.flow.name}', and cannot be taken by '{self.name}'.",
                    way_out="Write it to a table there, and read that here.",
                )
        taken = {node.name for node in self.nodes}
        number = 1 + sum(node.activity.kind == activity.kind for node in self.nodes)
        while name is None and f"{activity.kind}_{number}" in taken:
            number += 1
        chosen = name if name is not None else f"{activity.kind}_{number}"
        sources = tuple((rows.producer, rows.port) for rows in inputs)
        self.nodes.append(Node(name=chosen, activity=activity, inputs=sources, origin=_caller()))
        return chosen


class Rows:
    """What comes out of an activity; each method puts another one behind it, called `name` if that is given."""

    def __init__(self, flow: Flow, producer: str, port: str = OUT) -> None:
        self.flow = flow
        self.producer = producer
        self.port = port

    @property
    def label(self) -> str:
        return self.producer if self.port == OUT else f"{self.producer}.{self.port}"

    def filter(self, condition: str, *, name: str | None = None) -> Rows:
        """Those for which the SQL condition holds."""
        return self._then(Filter(condition=_sql({"condition": condition})["condition"]), name=name)

    def not_null(self, *columns: Names, name: str | None = None) -> CheckedRows:
        """Those with a value in each of the columns; the others are its `quarantine`."""
        return CheckedRows(self.flow, self.flow.add(NotNull(columns=_names(*columns)), self, name=name))

    def expression(self, columns: Columns | None = None, /, *, name: str | None = None, **more: str) -> Rows:
        """With columns added or replaced, each by an SQL expression."""
        return self._then(Expression(columns=_sql(columns, more)), name=name)

    def only(self, *columns: str | Columns, name: str | None = None, **more: str) -> Rows:
        """With these columns alone: as they are, or by an SQL expression."""
        kept: dict[str, str] = {}
        for column in columns:
            kept |= column if isinstance(column, Mapping) else {column: _quoted(column)}
        return self._then(Expression(columns=_sql(kept, more), only=True), name=name)

    def apply(self, function: Callable[[Any], Any], *, name: str | None = None) -> Rows:
        """Through a function from DataFrame to DataFrame, which sees one pack of rows at a time."""
        called = getattr(function, "__name__", type(function).__name__)
        return self._then(Function(function=function, name=called), name=name)

    def surrogate_key(self, *key: Names, column: str, lookup: str, name: str | None = None) -> Rows:
        """With a surrogate key in `column`, from the table `lookup`, where new ones are assigned once and for ever."""
        return self._then(SurrogateKey(key=_names(*key), column=column, lookup=lookup), name=name)

    def join(
        self,
        other: Rows,
        *,
        on: Names,
        how: Literal["inner", "left", "right", "full", "semi", "anti"] = "inner",
        method: Literal["hash", "sort-merge"] = "hash",
        name: str | None = None,
    ) -> Rows:
        """Joined with other rows on columns of the same names."""
        return self._then(Join(on=_names(on), how=how, method=method), other, name=name)

    def union(self, *others: Rows, name: str | None = None) -> Rows:
        """Together with other rows of the same columns."""
        return self._then(Union(), *others, name=name)

    def sorted_union(self, other: Rows, *, by: Names, name: str | None = None) -> Rows:
        """Together with other rows, all in one order."""
        return self._then(SortedUnion(by=_names(by)), other, name=name)

    def difference(self, other: Rows, *, on: Names, name: str | None = None) -> Rows:
        """Those whose key is not among the other rows."""
        return self._then(Difference(on=_names(on)), other, name=name)

    def deduplicate(self, *key: Names, order: Names = (), name: str | None = None) -> Rows:
        """One row per key, the first by `order`; without a key, each row once."""
        return self._then(Deduplicate(key=_names(*key), order=_names(order)), name=name)

    def sort(self, *by: Names, name: str | None = None) -> Rows:
        """In the order of these columns; `x DESC` turns it round."""
        return self._then(Sort(by=_names(*by)), name=name)

    def aggregate(
        self, columns: Columns | None = None, /, *, by: Names = (), name: str | None = None, **more: str
    ) -> Rows:
        """One row per value of `by`, with columns by SQL aggregates."""
        return self._then(Aggregate(by=_names(by), columns=_sql(columns, more)), name=name)

    def pivot(
        self,
        columns: Columns | None = None,
        /,
        *,
        by: Names,
        column: str,
        values: Iterable[str | int],
        name: str | None = None,
        **more: str,
    ) -> Rows:
        """One row per value of `by`, with SQL aggregates for each of the values of a column."""
        aggregates = _sql(columns, more)
        return self._then(Pivot(by=_names(by), column=column, values=tuple(values), columns=aggregates), name=name)

    def route(self, routes: Columns | None = None, /, *, name: str | None = None, **more: str) -> Routes:
        """Each where its SQL condition holds, and `otherwise`."""
        conditions = _sql(routes, more)
        return Routes(self.flow, self.flow.add(Router(routes=conditions), self, name=name), tuple(conditions))

    def slowly_changing(
        self,
        *,
        table: str,
        key: Names,
        type: Literal[1, 2] = 1,  # noqa: A002  as dimensions are called: of type 1, of type 2
        compare: Names = (),
        as_of: str | None = None,
        order: Names = (),
        name: str | None = None,
    ) -> None:
        """Bring a dimension table up to date: overwrite what has changed (type 1), or keep its history (type 2)."""
        changing = SlowlyChanging(
            target=Recordset(table=table),
            key=_names(key),
            type=type,
            compare=_names(compare),
            as_of=as_of,
            order=_names(order),
        )
        self._then(changing, name=name)

    def write(
        self,
        *,
        table: str | None = None,
        files: str | None = None,
        format: str = "parquet",  # noqa: A002  as for read
        mode: Literal["overwrite", "append"] | None = None,
        options: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        """Write them to a table of the warehouse, or to files."""
        target = Recordset(table=table, files=files, format=format, options=dict(options or {}))
        self._then(Write(target=target, mode=mode), name=name)

    def _then(self, activity: Activity, *others: Rows, name: str | None) -> Rows:
        return Rows(self.flow, self.flow.add(activity, self, *others, name=name))


class CheckedRows(Rows):
    """Rows that passed a check."""

    @property
    def quarantine(self) -> Rows:
        """Those that did not."""
        return Rows(self.flow, self.producer, QUARANTINE)


class Routes:
    """What comes out of a router: `routes.low` or `routes["low"]`, and `routes.otherwise`."""

    def __init__(self, flow: Flow, producer: str, routes: tuple[str, ...]) -> None:
        self._flow = flow
        self._producer = producer
        self._routes = routes

    @property
    def otherwise(self) -> Rows:
        """What fits no route."""
        return Rows(self._flow, self._producer, OTHERWISE)

    def __getitem__(self, route: str) -> Rows:
        if route not in self._routes:
            raise UsageError(
                f"The router '{self._producer}' has no route '{route}'.", way_out=suggestion(route, self._routes)
            )
        return Rows(self._flow, self._producer, route)

    def __getattr__(self, route: str) -> Rows:
        if route.startswith("__"):
            raise AttributeError(route)
        return self[route]


def _names(*given: Names) -> tuple[str, ...]:
    """The names of columns, whether one by one or in lists."""
    found = [name for each in given for name in (each if isinstance(each, list | tuple) else (each,))]
    for name in found:
        if not isinstance(name, str):
            raise UsageError(f"{name!r} is not the name of a column.", way_out='Write it as text, like "order_id".')
    return tuple(found)


def _sql(*given: Columns | None) -> dict[str, str]:
    """Names to SQL; a Column of Spark's, say, would be noticed only when the flow runs."""
    found = {name: text for each in given for name, text in (each or {}).items()}
    for name, text in found.items():
        if not isinstance(text, str):
            raise UsageError(
                f"'{name}' is of type {type(text).__name__}, and SQL is expected.",
                way_out='Write it as text, like "x > 0".',
            )
    return found


def _quoted(column: str) -> str:
    """A column's name as an SQL expression."""
    return column if column.isidentifier() else f"`{column.replace('`', '``')}`"


def _caller() -> Origin | None:
    """The place in the user's code that called into this module."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return None if frame is None else Origin(file=frame.f_code.co_filename, line=frame.f_lineno)
