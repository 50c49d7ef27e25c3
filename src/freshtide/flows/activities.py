"""What an activity of a flow can be: plain data, whatever carries it out.

Each knows how many inputs it takes, which of them must be complete before anything comes out, which outputs it has, and
whether it needs memory in proportion to its input (Karagiannis et al. 2013, sections 3 and 5.1).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

OUT = "out"
QUARANTINE = "quarantine"
OTHERWISE = "otherwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recordset:
    """Where rows come from or go to: files, or a table of the warehouse; or newly arrived files of a feed."""

    table: str | None = None
    feed: str | None = None
    """To read from only, by a flow that loads a table: what the update takes in."""
    files: str | None = None
    """A path or a glob, relative to the project."""
    format: str = "parquet"
    schema: Mapping[str, str] | None = None
    """Columns with their types; None where the files tell themselves."""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        kind, _ = self.key
        return f"{kind} {getattr(self, kind)}"

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others: names of tables and feeds do not tell upper from lower case."""
        if self.table is not None:
            return "table", self.table.lower()
        return ("feed", self.feed.lower()) if self.feed is not None else ("files", str(self.files))


class Activity(ABC):
    """One step of a flow."""

    kind: ClassVar[str]
    least_inputs: ClassVar[int] = 1
    most_inputs: ClassVar[int | None] = 1
    """None: any number."""
    memory_intensive: ClassVar[bool] = False
    needed: ClassVar[tuple[str, ...]] = ()
    """Fields that must not be empty."""

    @property
    def whole_inputs(self) -> tuple[int, ...]:
        """The inputs that must be complete before anything comes out, by number."""
        return ()

    @property
    def blocks(self) -> bool:
        """Whether nothing comes out before the end of all input."""
        return bool(self.whole_inputs) and len(self.whole_inputs) >= self.least_inputs

    @property
    def ports(self) -> tuple[str, ...]:
        """The outputs, by name."""
        return (OUT,)

    @property
    def optional_ports(self) -> tuple[str, ...]:
        """Those that nobody has to take rows from."""
        return ()


class Blocking(Activity):
    """Waits for all of its single input."""

    memory_intensive = True

    @property
    def whole_inputs(self) -> tuple[int, ...]:
        return (0,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read(Activity):
    kind = "read"
    least_inputs, most_inputs = 0, 0
    source: Recordset


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Activity):
    kind = "write"
    target: Recordset
    mode: Literal["overwrite", "append"] | None = None
    """None: a flow that is run by hand overwrites, one that loads a table appends with each update."""

    @property
    def ports(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Activity):
    kind = "filter"
    needed = ("condition",)
    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNull(Activity):
    """Lets rows pass that have a value in every one of the columns; the others go into quarantine."""

    kind = "not_null"
    needed = ("columns",)
    columns: tuple[str, ...]

    @property
    def ports(self) -> tuple[str, ...]:
        return (OUT, QUARANTINE)

    @property
    def optional_ports(self) -> tuple[str, ...]:
        return (QUARANTINE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression(Activity):
    """Adds or replaces columns, or keeps only these."""

    kind = "expression"
    needed = ("columns",)
    columns: Mapping[str, str]
    """Name to SQL expression over the columns that come in."""
    only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(Activity):
    """A function of the user's from DataFrame to DataFrame, row pack by row pack."""

    kind = "function"
    function: Callable[[Any], Any]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurrogateKey(Activity):
    """Replaces production keys by surrogate keys from a lookup table, where new ones are assigned once and for ever."""

    kind = "surrogate_key"
    needed = ("key", "column", "lookup")
    memory_intensive = True
    key: tuple[str, ...]
    column: str
    lookup: str
    """A table with the production key's columns and the surrogate key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Activity):
    """Of a hash join the second input must be complete, of a sort-merge join both."""

    kind = "join"
    needed = ("on",)
    memory_intensive = True
    least_inputs, most_inputs = 2, 2
    on: tuple[str, ...]
    how: Literal["inner", "left", "right", "full", "semi", "anti"] = "inner"
    method: Literal["hash", "sort-merge"] = "hash"

    @property
    def whole_inputs(self) -> tuple[int, ...]:
        # A row of the second input that nothing matched is known only at the end of the first.
        pipelines = self.method == "hash" and self.how in {"inner", "left", "semi", "anti"}
        return (1,) if pipelines else (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Activity):
    kind = "union"
    least_inputs, most_inputs = 2, None


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedUnion(Activity):
    kind = "sorted_union"
    needed = ("by",)
    memory_intensive = True
    least_inputs, most_inputs = 2, 2
    by: tuple[str, ...]

    @property
    def whole_inputs(self) -> tuple[int, ...]:
        return (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Activity):
    """The rows of the first input whose key is not in the second."""

    kind = "difference"
    needed = ("on",)
    memory_intensive = True
    least_inputs, most_inputs = 2, 2
    on: tuple[str, ...]

    @property
    def whole_inputs(self) -> tuple[int, ...]:
        return (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicate(Blocking):
    """One row per key: the first by the order, or any where all of a row is the key."""

    kind = "deduplicate"
    key: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(Blocking):
    kind = "sort"
    needed = ("by",)
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Blocking):
    kind = "aggregate"
    needed = ("columns",)
    by: tuple[str, ...]
    columns: Mapping[str, str]
    """Name to SQL aggregate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pivot(Blocking):
    kind = "pivot"
    needed = ("column", "values", "columns")
    by: tuple[str, ...]
    column: str
    values: tuple[str | int, ...]
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Router(Activity):
    """Sends each row where its condition holds; what fits no route goes `otherwise`, if somebody takes it there."""

    kind = "router"
    needed = ("routes",)
    routes: Mapping[str, str]

    @property
    def ports(self) -> tuple[str, ...]:
        return (*self.routes, OTHERWISE)

    @property
    def optional_ports(self) -> tuple[str, ...]:
        return (OTHERWISE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowlyChanging(Blocking):
    """Brings a dimension table up to date.

    Type 1 overwrites what has changed. Type 2 closes the old version of a row and opens a new one, with the columns
    `valid_from`, `valid_to` and `is_current`.
    """

    kind = "slowly_changing"
    needed = ("key",)
    target: Recordset
    key: tuple[str, ...]
    type: Literal[1, 2] = 1
    compare: tuple[str, ...] = ()
    """Columns whose change counts; none: all but the key."""
    as_of: str | None = None
    """For type 2: the column that says from when on a row holds."""
    order: tuple[str, ...] = ()
    """What several rows of a key come one after another by, after `as_of`."""

    @property
    def ports(self) -> tuple[str, ...]:
        return ()


ACTIVITIES: Mapping[str, type[Activity]] = {
    kind.kind: kind
    for kind in (
        Read,
        Write,
        Filter,
        NotNull,
        Expression,
        Function,
        SurrogateKey,
        Join,
        Union,
        SortedUnion,
        Difference,
        Deduplicate,
        Sort,
        Aggregate,
        Pivot,
        Router,
        SlowlyChanging,
    )
}
