"""The parameters of each kind of activity as they are written in flows/*.yml, to activities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field

from freshtide.flows import FORMAT_OPTIONS, Activity, Recordset
from freshtide.flows.activities import (
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
    Router,
    SlowlyChanging,
    Sort,
    SortedUnion,
    SurrogateKey,
    Union,
    Write,
)
from freshtide.project.notation.validation import Written, chosen, wrong

FindFunction = Callable[[str], Callable[[Any], Any]]
"""From `module.py:function` to the function; a FreshtideError where there is none."""


def _names(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise wrong("A column or a list of columns is expected here.", way_out="Write it like [order_id, day].")


def _values(value: object) -> object:
    if isinstance(value, list) and all(isinstance(each, str | int) and not isinstance(each, bool) for each in value):
        return tuple(value)
    raise wrong("A list of texts or whole numbers is expected here.", way_out="Write it like [1, 2, 3].")


def _dimension(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value in (1, 2):
        return value
    raise wrong(f"'{value}' is not a type of dimension.", way_out="Write 1 to overwrite, or 2 to keep the history.")


def _word_of(choice: Any) -> BeforeValidator:
    words = get_args(choice)
    return BeforeValidator(lambda value: chosen(value, words, f"one of {', '.join(words)}"))


_How = Literal["inner", "left", "right", "full", "semi", "anti"]
_Method = Literal["hash", "sort-merge"]
_Mode = Literal["overwrite", "append"]
_Names = Annotated[tuple[str, ...], BeforeValidator(_names)]


class Parameters(Written):
    """Of one kind of activity, whose fields have the same names."""

    kind: ClassVar[type[Activity]]
    alone: ClassVar[str | None] = None
    """The one that can be written without its key."""

    @classmethod
    def spelt_out(cls, value: object) -> object:
        """The keys and values that are meant."""
        if value is None:
            return {}
        return value if cls.alone is None or isinstance(value, Mapping) else {cls.alone: value}

    def activity(self, find_function: FindFunction) -> Activity:  # noqa: ARG002  most need none
        return self.kind(**{name: getattr(self, name) for name in type(self).model_fields})


class _Recordset(Parameters):
    table: str | None = None
    files: str | None = None
    format: Annotated[
        str, BeforeValidator(lambda value: chosen(value, tuple(FORMAT_OPTIONS), "a format that flows know"))
    ] = "parquet"
    options: dict[str, str] = Field(default_factory=dict)


class _Read(_Recordset):
    kind = Read
    feed: str | None = None
    # The types are checked where those of flows in Python are; the alias keeps clear of pydantic's own `schema`.
    columns: dict[str, str] | None = Field(default=None, alias="schema")

    def activity(self, find_function: FindFunction) -> Activity:  # noqa: ARG002
        return Read(
            source=Recordset(
                table=self.table,
                files=self.files,
                feed=self.feed,
                format=self.format,
                schema=self.columns,
                options=self.options,
            )
        )


class _Write(_Recordset):
    kind = Write
    mode: Annotated[_Mode, _word_of(_Mode)] | None = None

    def activity(self, find_function: FindFunction) -> Activity:  # noqa: ARG002
        target = Recordset(table=self.table, files=self.files, format=self.format, options=self.options)
        return Write(target=target, mode=self.mode)


class _Filter(Parameters):
    kind, alone = Filter, "condition"
    condition: str


class _NotNull(Parameters):
    kind, alone = NotNull, "columns"
    columns: _Names


class _Expression(Parameters):
    kind = Expression
    columns: dict[str, str]
    only: bool = False


class _Function(Parameters):
    kind, alone = Function, "function"
    function: str

    def activity(self, find_function: FindFunction) -> Activity:
        return Function(function=find_function(self.function), name=self.function)


class _SurrogateKey(Parameters):
    kind = SurrogateKey
    key: _Names
    column: str
    lookup: str


class _Join(Parameters):
    kind, alone = Join, "on"
    on: _Names
    how: Annotated[_How, _word_of(_How)] = "inner"
    method: Annotated[_Method, _word_of(_Method)] = "hash"


class _Union(Parameters):
    kind = Union


class _SortedUnion(Parameters):
    kind, alone = SortedUnion, "by"
    by: _Names


class _Difference(Parameters):
    kind, alone = Difference, "on"
    on: _Names


class _Deduplicate(Parameters):
    kind, alone = Deduplicate, "key"
    key: _Names = ()
    order: _Names = ()


class _Sort(Parameters):
    kind, alone = Sort, "by"
    by: _Names


class _Aggregate(Parameters):
    kind = Aggregate
    by: _Names = ()
    columns: dict[str, str]


class _Pivot(Parameters):
    kind = Pivot
    by: _Names
    column: str
    values: Annotated[tuple[str | int, ...], BeforeValidator(_values)]
    columns: dict[str, str]


class _Router(Parameters):
    kind = Router
    routes: dict[str, str]


class _SlowlyChanging(Parameters):
    kind = SlowlyChanging
    table: str
    key: _Names
    type: Annotated[Literal[1, 2], BeforeValidator(_dimension)] = 1
    compare: _Names = ()
    as_of: str | None = None
    order: _Names = ()

    def activity(self, find_function: FindFunction) -> Activity:  # noqa: ARG002
        return SlowlyChanging(
            target=Recordset(table=self.table),
            key=self.key,
            type=self.type,
            compare=self.compare,
            as_of=self.as_of,
            order=self.order,
        )


PARAMETERS: Mapping[str, type[Parameters]] = {
    parameters.kind.kind: parameters
    for parameters in (
        _Read,
        _Write,
        _Filter,
        _NotNull,
        _Expression,
        _Function,
        _SurrogateKey,
        _Join,
        _Union,
        _SortedUnion,
        _Difference,
        _Deduplicate,
        _Sort,
        _Aggregate,
        _Pivot,
        _Router,
        _SlowlyChanging,
    )
}
"""By the key that a kind is written with."""
