"""Writing the trace: everything the scheduler was told and everything it answered, one line per decision.

Fed to a fresh scheduler it gives the same commands again, which is what makes a production run explainable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from freshtide.core.commands import Command
from freshtide.core.events import Event
from freshtide.core.secrets import redacted
from freshtide.runs import Reached, beginning_line, change_line, continuation_line, decision_line
from freshtide.scheduling import Beginning, Reach, Reconfiguration
from freshtide.world import Disk, OsDisk

LARGEST = 64 * 1024 * 1024
KEPT = 16


class TraceWriter:
    """Appends a run to a file. A file that has grown large is put aside, and a new one begins that names it.

    What the disk does not take waits in memory and goes before what comes next: no line is left out or torn.
    """

    def __init__(
        self,
        path: Path,
        beginning: Beginning,
        *,
        largest: int = LARGEST,
        kept: int = KEPT,
        disk: Disk | None = None,
    ) -> None:
        self._disk = disk or OsDisk()
        self._path = path
        self._largest = largest
        self._kept = kept
        self._reached: list[Reached] = []
        self._unwritten = b""
        self.on_failure: Callable[[OSError], None] | None = None
        """Told when the disk does not take a line; without it that is raised."""
        self._disk.make_folders(path.parent)
        self._file = self._disk.open_end(path)
        _drop_torn_line(self._disk, path)
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
        self._unwritten += decision_line(now, events, commands, reached).encode()
        self.settle()

    def note_change(self, now: float, change: Reconfiguration) -> None:
        """The scheduler goes on with something else; what is traced from here on follows from that."""
        self._unwritten += redacted(change_line(now, change)).encode()
        self.settle()

    def settle(self) -> None:
        """Write what has not been written yet, as far as the disk takes it."""
        try:
            self._write_out()
            if self._file.tell() > self._largest:
                self._put_aside()
        except OSError as error:
            if self.on_failure is None:
                raise
            self.on_failure(error)

    def close(self) -> None:
        self._file.close()

    def _append(self, line: str) -> None:
        self._unwritten += redacted(line).encode()
        self._write_out()

    def _write_out(self) -> None:
        while self._unwritten:
            # The file is not buffered: what it has taken is on its way, and the rest is still here.
            written = self._file.write(self._unwritten)
            self._unwritten = self._unwritten[written:]

    def _put_aside(self) -> None:
        if self._disk.exists(self._path):  # otherwise that is done, and the next one could not be begun
            number = 1 + max(self._put_aside_before(), default=0)
            self._disk.rename(self._path, self._path.with_suffix(f".{number}.jsonl"))
        aside = self._put_aside_before()
        for old in sorted(aside)[: -self._kept]:
            self._disk.remove(aside[old])
        begun = self._disk.open_end(self._path)
        self._file.close()
        self._file = begun
        self._append(continuation_line(aside[max(aside)].name))

    def _put_aside_before(self) -> dict[int, Path]:
        """The earlier files of the trace by number."""
        folder, named = self._path.parent, re.compile(rf"{re.escape(self._path.stem)}\.(\d+)\.jsonl")
        return {
            int(found[1]): folder / found[0] for name in self._disk.names(folder) if (found := named.fullmatch(name))
        }


def _drop_torn_line(disk: Disk, path: Path) -> None:
    """A run that was killed may have left half a line: it belongs to no decision that was carried out."""
    with disk.open(path) as file:
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
        disk.truncate(path, keep)
