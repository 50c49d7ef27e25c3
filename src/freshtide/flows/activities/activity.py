"""What all activities say of themselves, and the recordsets that rows come from and go to."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

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
