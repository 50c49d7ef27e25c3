"""Changes as data: shown to users before they take effect, and sent from the run to whoever asks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


class Subject(StrEnum):
    """What can change."""

    SETTING = "setting"
    FEED = "feed"
    FLOW = "flow"
    TABLE = "table"


class What(StrEnum):
    """What has become of it."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyChange:
    """A property under the name that users know. Without values where they are too long or nobody's business."""

    name: str
    before: str | None = None
    after: str | None = None

    def __str__(self) -> str:
        return self.name if self.before is None else f"{self.name} {self.before} -> {self.after}"


_COLUMNS = (PropertyChange(name="columns"),)
_WIDENED = "its columns are computed from the rows that it has"
_REPHRASED = "it gives the same rows as before: none of them is computed anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that is not as it was."""

    subject: Subject
    name: str
    what: What
    properties: tuple[PropertyChange, ...] = ()
    anew: bool = False
    """Whether a table that has rows is computed anew from its sources."""
    note: str | None = None
    """What becomes of what is there, where one may wonder."""
    restart: str | None = None
    """Why it cannot take effect in a run that is going on; None if it can."""

    def __str__(self) -> str:
        if self.subject is Subject.SETTING and [found.name for found in self.properties] == [self.name]:
            return f"{self.subject} {self.properties[0]}"
        told = f"{self.subject} {self.name} {self.what}"
        return f"{told}: {', '.join(map(str, self.properties))}" if self.properties else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """From one version of a project to another."""

    items: tuple[Change, ...]
    digest: str
    """Of what the project says afterwards."""

    def __bool__(self) -> bool:
        return bool(self.items)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.items)

    @property
    def anew(self) -> tuple[str, ...]:
        """Tables that are computed anew."""
        return tuple(change.name for change in self.items if change.anew)

    def loading_anew(self, reasons: Mapping[str, str]) -> Changes:
        """The same, where tables have to be loaded anew from their files as well, each for its reason."""
        told = {name: f"{reason} It is loaded anew from its files." for name, reason in reasons.items()}
        known = {change.name for change in self.items if change.subject is Subject.TABLE}
        items = [
            replace(change, anew=True, note=told[change.name])
            if change.subject is Subject.TABLE and change.name in told
            else change
            for change in self.items
        ]
        items += [
            Change(subject=Subject.TABLE, name=name, what=What.CHANGED, properties=_COLUMNS, anew=True, note=note)
            for name, note in told.items()
            if name not in known
        ]
        return replace(self, items=tuple(items))

    def rephrased(self, names: Collection[str], *, widened: Collection[str]) -> Changes:
        """The same, where views are told that say what they said in other words, or read such views.

        `widened` are those that gain or lose columns of the rows that they have.
        """
        told = dict.fromkeys(names, _REPHRASED) | dict.fromkeys(widened, _WIDENED)
        items = [
            replace(change, note=told.get(change.name, change.note)) if change.subject is Subject.TABLE else change
            for change in self.items
        ]
        return replace(self, items=tuple(items))

    @property
    def restarts(self) -> tuple[Change, ...]:
        """What takes a restart."""
        return tuple(change for change in self.items if change.restart is not None)

    def named(self, subject: Subject, what: What) -> tuple[str, ...]:
        return tuple(change.name for change in self.items if (change.subject, change.what) == (subject, what))

    @property
    def summary(self) -> str:
        """In a line."""
        return "; ".join(map(str, self.items)) or "nothing"

    def as_json(self) -> dict[str, Any]:
        return {"digest": self.digest, "changes": [asdict(change) for change in self.items]}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Changes:
        return cls(
            digest=written["digest"],
            items=tuple(
                Change(
                    **change
                    | {
                        "subject": Subject(change["subject"]),
                        "what": What(change["what"]),
                        "properties": tuple(PropertyChange(**found) for found in change["properties"]),
                    }
                )
                for change in written["changes"]
            ),
        )
