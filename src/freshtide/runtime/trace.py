"""The trace: everything the scheduler was told and everything it answered, one line per decision.

Fed to a fresh scheduler it gives the same commands again, which is what makes a production run explainable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import IO

from freshtide.core.commands import Command
from freshtide.core.events import Event

_LARGEST = 64 * 1024 * 1024


class TraceWriter:
    """Appends to a file; when it has grown large it becomes the previous one and a new one begins."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def write(self, now: float, events: Iterable[Event], commands: Iterable[Command]) -> None:
        line = {"now": now, "events": [_named(e) for e in events], "commands": [_named(c) for c in commands]}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        if self._file.tell() > _LARGEST:
            self._file.close()
            self._path.rename(self._path.with_suffix(".previous.jsonl"))
            self._file = self._path.open("a", encoding="utf-8")

    def close(self) -> None:
        self._file.close()


def _named(message: Event | Command) -> dict[str, object]:
    return {"type": type(message).__name__, **asdict(message)}
