"""Replaying a trace: a fresh scheduler is told the same and must answer the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshtide.core.errors import UsageError
from freshtide.runs.beginning import reconfigure, scheduler_from
from freshtide.runs.traces import Continuation, TracedDecision, TraceLine, read_line, written_commands
from freshtide.scheduling import Beginning, Reconfiguration, Scheduler, TableView
from freshtide.world import Disk, OsDisk

_BEGINS = b'{"begins":'
_CHANGES = '{"changes":'
_AT_ONCE = 1_000_000


class TraceError(UsageError):
    """A file that is no trace, or not all of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A decision that came out differently."""

    file: str
    line: int
    now: float
    recorded: list[Any]
    replayed: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What came of a replay; it ends at the first difference."""

    runs: int
    decisions: int
    skipped: int = 0
    """Decisions of a run whose beginning is in a file that is no longer kept."""
    difference: Difference | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def replay_trace(path: Path, *, disk: Disk | None = None) -> Replay:
    """Replay a trace file, from the beginning of its first run on, even if that is in a file before it."""
    player: _Player | None = None
    runs = decisions = skipped = 0
    for place, said in _lines(disk or OsDisk(), path):
        if isinstance(said, Beginning):
            player = _Player(said)
            runs += 1
        elif isinstance(said, Reconfiguration):
            if player is not None:
                player.change(said)
        elif isinstance(said, TracedDecision):
            if player is None:
                skipped += 1
                continue
            decisions += 1
            replayed = player.decide(said, place)
            replayed = _as_told(replayed, said.commands)
            if replayed != said.commands:
                difference = Difference(
                    file=str(place.file), line=place.line, now=said.now, recorded=said.commands, replayed=replayed
                )
                return Replay(runs=runs, decisions=decisions, skipped=skipped, difference=difference)
    if not runs:
        raise TraceError(f"{path} holds no beginning of a run, so there is nothing to replay it from.")
    return Replay(runs=runs, decisions=decisions, skipped=skipped)


def traced_look(path: Path, table: str, *, disk: Disk | None = None) -> TableView | None:
    """How a table stood with the scheduler after the last decision of the last run in a trace file.

    None where that cannot be told: there is no such trace, or the run began in a file before this one.
    """
    beginning, *others = _last_run(disk or OsDisk(), path) or [""]
    try:
        begun = _read(beginning, _Place(path, 1))
        if not isinstance(begun, Beginning):
            return None
        player = _Player(begun)
        for number, text in enumerate(others, start=2):
            said = _read(text, _Place(path, number))
            if isinstance(said, TracedDecision):
                player.decide(said, _Place(path, number))
            elif isinstance(said, Reconfiguration):
                player.change(said)
    except TraceError:
        return None
    return player.scheduler.look(table) if player.scheduler.knows(table) else None


def last_beginning(path: Path, *, disk: Disk | None = None) -> Beginning | None:
    """What the last run in a trace file started from, or went on with since; None if it does not begin in this file."""
    lines = _last_run(disk or OsDisk(), path)
    last = next((line for line in reversed(lines) if line.startswith(_CHANGES)), lines[0] if lines else None)
    try:
        said = None if last is None else _read(last, _Place(path, 1))
    except TraceError:
        return None
    if isinstance(said, Reconfiguration):
        return said.after
    return said if isinstance(said, Beginning) else None


def _last_run(disk: Disk, path: Path) -> list[str]:
    """The whole lines of the last run that begins in a file."""
    try:
        text = disk.read(path)
    except OSError:
        return []
    # Within a line quotes are escaped, so that nothing else looks like this.
    begun = text.rfind(_BEGINS)
    whole = text.rfind(b"\n") + 1
    return [] if begun < 0 else text[begun:whole].decode("utf-8", errors="replace").splitlines()


class _Player:
    """A scheduler that asks the trace where the live one asked its project."""

    def __init__(self, beginning: Beginning) -> None:
        self._reached: Mapping[tuple[str, float], float | None] = {}
        self.scheduler: Scheduler = scheduler_from(beginning, self._reach)

    def change(self, traced: Reconfiguration) -> None:
        reconfigure(self.scheduler, traced, self._reach)

    def decide(self, traced: TracedDecision, place: _Place) -> list[Any]:
        self._reached = traced.reached
        try:
            commands = self.scheduler.handle(traced.events, traced.now)
        except (KeyError, AssertionError) as error:
            raise TraceError(f"{place}: the events do not follow from what came before: {error}.") from error
        # Through JSON and back, as what was recorded has been.
        replayed: list[Any] = json.loads(json.dumps(written_commands(commands)))
        return replayed

    def _reach(self, table: str, cut: float) -> float | None:
        return self._reached.get((table, cut), cut)


def _as_told(replayed: list[Any], recorded: list[Any]) -> list[Any]:
    """Commands without what those of earlier versions did not say: how long an update may take."""
    if len(replayed) != len(recorded):
        return replayed
    return [
        {name: value for name, value in command.items() if name != "within" or name in before}
        for command, before in zip(replayed, recorded, strict=True)
    ]


def _lines(disk: Disk, path: Path) -> Iterator[tuple[_Place, TraceLine]]:
    """The lines of a trace in order, those of the files that it continues first."""
    for file in _chain(disk, path):
        for place, text in _texts(disk, file):
            said = _read(text, place)
            if not isinstance(said, Continuation):
                yield place, said


def _chain(disk: Disk, path: Path) -> list[Path]:
    """The file and those that it goes on from, oldest first, as far as they are still there."""
    chain = [path]
    while True:
        first = next(_texts(disk, chain[0]), None)
        if first is None:
            return chain
        said = _read(first[1], first[0])
        if not isinstance(said, Continuation):
            return chain
        before = chain[0].with_name(said.predecessor)
        if not disk.exists(before) or before in chain:
            return chain
        chain.insert(0, before)


def _texts(disk: Disk, path: Path) -> Iterator[tuple[_Place, str]]:
    """The whole lines of a file; one that has no end yet is still being written."""
    try:
        for number, line in enumerate(_whole_lines(disk, path), start=1):
            yield _Place(path, number), line.decode("utf-8")
    except FileNotFoundError as error:
        raise TraceError(f"There is no trace {path}.", way_out="`freshtide run` writes one.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path} cannot be read: {error}.") from error


def _whole_lines(disk: Disk, path: Path) -> Iterator[bytes]:
    rest = b""
    with disk.open(path) as file:
        while read := file.read(_AT_ONCE):
            *whole, rest = (rest + read).split(b"\n")
            yield from whole


def _read(text: str, place: _Place) -> TraceLine:
    try:
        return read_line(text)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"{error.args[0]!r} is missing or unknown" if isinstance(error, KeyError) else str(error)
        raise TraceError(f"{place}: this is no line of a trace: {reason}.") from error
