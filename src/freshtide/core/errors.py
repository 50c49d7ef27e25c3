"""Errors a user can act on: what is wrong, where, and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from freshtide.core.secrets import redacted


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The place in a user's project that something was declared at."""

    file: str
    line: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class FreshtideError(Exception):
    """Base of all errors meant for users. `way_out` says what to do about it."""

    def __init__(self, message: str, *, way_out: str | None = None) -> None:
        # An error may repeat what it was given: it is shown, logged and written down.
        self.message = redacted(message)
        self.way_out = None if way_out is None else redacted(way_out)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.way_out}" if self.way_out else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a project."""

    message: str
    origin: Origin | None = None
    way_out: str | None = None

    @property
    def placed(self) -> str:
        """What is wrong and where, without the way out."""
        return f"{self.origin}: {self.message}" if self.origin else self.message

    def __str__(self) -> str:
        return f"{self.placed} {self.way_out}" if self.way_out else self.placed


class ProjectError(FreshtideError):
    """The project is wrong: nothing runs until every problem is mended."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(FreshtideError):
    """Something was asked for that does not exist or cannot be understood."""


class DurationError(UsageError):
    """A duration that cannot be understood."""


class TimestampError(UsageError):
    """A timestamp that cannot be understood."""


class UnknownTableError(UsageError):
    """A table name nobody declared."""

    def __init__(self, name: str, *, known: Iterable[str]) -> None:
        super().__init__(f"There is no table '{name}'.", way_out=suggestion(name, known))


class RunFailedError(FreshtideError):
    """A run that could not do its work."""


class SurroundingsError(FreshtideError):
    """Disk, database or Spark is at fault, no table and no file: nothing is given up, the run waits and goes on."""


class LeaseLostError(FreshtideError):
    """Another process runs the warehouse now: this one commits nothing any more, and ends."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint towards the name that was probably meant."""
    names = sorted(known)
    return _nearest(name, names) or _listed(names, most=12)


def choices(name: str, allowed: Iterable[str]) -> str:
    """All that can be written here, beginning with what was probably meant."""
    names = sorted(allowed)
    nearest, listed = _nearest(name, names), _listed(names, most=len(names))
    return f"{nearest} {listed}" if nearest else listed


def _nearest(name: str, names: list[str]) -> str | None:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"Did you mean '{close[0]}'?" if close else None


def _listed(names: list[str], *, most: int) -> str:
    if not names:
        return "None is declared."
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"Known: {', '.join(names[:most])}{more}."
