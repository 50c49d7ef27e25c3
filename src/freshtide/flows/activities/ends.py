"""Where rows enter a flow and where they leave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from freshtide.flows.activities.activity import Activity, Blocking, Recordset


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
