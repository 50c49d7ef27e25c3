"""A table as its log tells it, entry by entry, read as JSON and Parquet alone: what the real reader is held to."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from faults.content import decoded
from freshtide.storage import LoadedArrival, UpdateKind


class WrongError(Exception):
    """Something that must hold does not."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one entry does, and what it says about itself."""

    about: dict[str, Any]
    adds: tuple[str, ...]
    removes: tuple[str, ...]

    @property
    def is_update(self) -> bool:
        return "number" in self.about

    def __str__(self) -> str:
        if not self.is_update:
            return (
                f"{self.about['kind']}, back to {self.about['back_to']}"
                if "back_to" in self.about
                else self.about["kind"]
            )
        loaded = f" of {len(self.about['files'])} files" if self.about["files"] else ""
        return f"update {self.about['number']}, {self.about['kind']}{loaded}"


@lru_cache(maxsize=512)
def said_by(entry: bytes) -> Said | None:
    """None: it is torn."""
    try:
        actions = [json.loads(line) for line in entry.decode(errors="replace").split("\n") if line.strip()]
    except ValueError:
        return None
    if not actions or "txn" not in actions[-1]:
        return None
    return Said(
        about=actions[0]["commitInfo"]["freshtide"],
        adds=tuple(unquote(action["add"]["path"]) for action in actions if "add" in action),
        removes=tuple(unquote(action["remove"]["path"]) for action in actions if "remove" in action),
    )


@dataclass(slots=True)
class FollowedTable:
    """What a table holds after each entry of its log."""

    name: str
    entries: list[bytes] = field(default_factory=list)
    number: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    """By path what is in them."""
    rows: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    last: dict[str, Any] = field(default_factory=dict)
    """What the newest update says about itself."""
    states: dict[int, Counter[tuple[Any, ...]]] = field(default_factory=dict)
    """By number what the table held after that update."""
    arrivals: dict[str, str] = field(default_factory=dict)
    """By path the digest of all files that updates have loaded."""

    @property
    def version(self) -> int:
        return len(self.entries) - 1

    @property
    def freshness(self) -> int | None:
        return self.last.get("freshness")

    def follow(self, entry: bytes, added: dict[str, bytes]) -> Said:
        """Go on by one entry, whose new files hold this."""
        said = said_by(entry)
        if said is None:
            raise WrongError(f"Version {self.version + 1} of {self.name} was torn when it was named.")
        taken = self._taken(said.removes)
        given = _rows(self.name, added.values())
        self.entries.append(entry)
        self.files.update(added)
        self.rows = self.rows - taken + given
        self._take_note(said, taken, given)
        return said

    def _taken(self, paths: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
        strange = [path for path in paths if path not in self.files]
        if strange:
            raise WrongError(f"{self.name} is to lose {strange[0]}, which is not in it.")
        return _rows(self.name, [self.files.pop(path) for path in paths])

    def _take_note(self, said: Said, taken: Counter[tuple[Any, ...]], given: Counter[tuple[Any, ...]]) -> None:
        if said.is_update:
            if said.about["number"] <= self.number:
                raise WrongError(f"Update {said.about['number']} of {self.name} came after update {self.number}.")
            self.number, self.last = said.about["number"], said.about
            self.states[self.number] = self.rows
            self._load(said.about)
        elif "back_to" in said.about:
            self.number = said.about["back_to"]
            self.states = {number: rows for number, rows in self.states.items() if number <= self.number}
        elif taken != given:
            raise WrongError(f"{self.name} has other rows after a {said.about['kind']}, which changes none.")

    def _load(self, about: dict[str, Any]) -> None:
        files = [LoadedArrival.from_metadata(file) for file in about["files"]]
        if about["kind"] == UpdateKind.REBUILD:
            self.arrivals = {}
        again = [file.position for file in files if file.position in self.arrivals]
        if again:
            raise WrongError(f"Update {self.number} of {self.name} has loaded {again[0]} once more.")
        self.arrivals.update((file.position, file.digest) for file in files)


def _rows(name: str, contents: Any) -> Counter[tuple[Any, ...]]:
    try:
        return Counter(values for content in contents for values in decoded(content))
    except Exception as error:
        raise WrongError(f"A file of {name} cannot be read: {error}") from error
