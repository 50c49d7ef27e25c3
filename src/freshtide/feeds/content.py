"""What a file holds, as far as its arrival is concerned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Records counted, column names the file itself carries, and the largest time in the time column."""

    rows: int
    columns: tuple[str, ...] | None
    latest: float | None = None


class LatestTime:
    """The largest of the times that can be read; the others are for the loader to reject."""

    def __init__(self, parse: Callable[[str], float]) -> None:
        self._parse = parse
        self.instant: float | None = None

    def see(self, values: Iterable[str]) -> None:
        latest = float("-inf") if self.instant is None else self.instant
        parse = self._parse
        for value in values:
            try:
                instant = parse(value)
            except (ValueError, OverflowError):
                continue
            latest = max(latest, instant)
        if latest != float("-inf"):
            self.instant = latest
