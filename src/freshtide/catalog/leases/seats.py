"""A place where the lease is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from freshtide.catalog.leases.holders import Holder


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a seat is found."""

    holder: Holder
    beat: int
    """Another number after each heartbeat."""
    released: bool

    @property
    def seen_at(self) -> float:
        """When it showed last that it lives, on the clock of whoever keeps the seat."""
        return self.beat / 1e9


class Seat(Protocol):
    """Taken by one holder after another, each with a higher epoch."""

    def read(self) -> Standing | None:
        """Its last holder; None where there has never been one."""
        ...

    def take(self, holder: Holder, after: Standing | None) -> bool:
        """Become its holder, unless somebody else has become that since it was read."""
        ...

    def beat(self, holder: Holder) -> bool:
        """Show that the holder lives; false if it holds the seat no more."""
        ...

    def release(self, holder: Holder) -> None:
        """Leave it in order, if it is still the holder's."""
        ...
