"""Writing the trace: everything the scheduler was told and everything it answered, one line per decision.

Fed to a fresh scheduler it gives the same commands again, which is what makes a production run explainable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from freshtide.core.commands import Command
from freshtide.core.events import Event
from freshtide.observe import Reached, beginning_line, continuation_line, decision_line
from freshtide.scheduling import Beginning, Reach

LARGEST = 64 * 1024 * 1024
KEPT = 16


class TraceWriter:
    """Appends a run to a file. A file that has grown large is put aside, and a new one begins that names it."""

    def __init__(self, path: Path, beginning: Beginning, *, largest: int = LARGEST, kept: int = KEPT) -> None:
        self._path = path
        self._largest = largest
        self._kept = kept
        self._reached: list[Reached] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("ab")
        _drop_torn_line(path)
        self._append(beginning_line(beginning))

    def recording(self, reach: Reach) -> Reach:
        """The same answers, and what is asked goes into the trace: they depend on the project, which may change."""

        def recorded(table: str, cut: float) -> float | None:
            answer = reach(table, cut)
            if answer != cut:
                self._reached.append((table, cut, answer))
            return answer

        return recorded

    def write(self, now: float, events: Iterable[Event], commands: Iterable[Command]) -> None:
        reached, self._reached = self._reached, []
        self._append(decision_line(now, events, commands, reached))
        if self._file.tell() > self._largest:
            self._put_aside()

    def close(self) -> None:
        self._file.close()

    def _append(self, line: str) -> None:
        self._file.write(line.encode())
        self._file.flush()

    def _put_aside(self) -> None:
        self._file.close()
        aside = _put_aside_before(self._path)
        number = 1 + max(aside, default=0)
        predecessor = self._path.with_suffix(f".{number}.jsonl")
        self._path.rename(predecessor)
        for old in sorted(aside)[: max(0, len(aside) + 1 - self._kept)]:
            aside[old].unlink()
        self._file = self._path.open("ab")
        self._append(continuation_line(predecessor.name))


def _put_aside_before(path: Path) -> dict[int, Path]:
    """The earlier files of a trace by number."""
    named = re.compile(rf"{re.escape(path.stem)}\.(\d+)\.jsonl")
    return {int(found[1]): other for other in path.parent.iterdir() if (found := named.fullmatch(other.name))}


def _drop_torn_line(path: Path) -> None:
    """A run that was killed may have left half a line: it belongs to no decision that was carried out."""
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        step = 4096
        keep = end
        while keep > 0:
            start = max(0, keep - step)
            file.seek(start)
            newline = file.read(keep - start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            keep = start
        if keep < end:
            file.truncate(keep)
