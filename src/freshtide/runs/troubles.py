"""What is wrong around a run, left where other processes find it even if the catalog is what is wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from freshtide.core.durations import format_duration
from freshtide.core.instants import format_instant
from freshtide.world import Disk

# Written over in place: a file that has its room keeps it when the disk is full.
_ROOM = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a run waits, and since when."""

    reason: str
    since: float

    def story(self, now: float) -> str:
        return f"Nothing is started, for {format_duration(max(0.0, now - self.since))} now: {self.reason}"

    def as_json(self) -> dict[str, str]:
        return {"reason": self.reason, "since": format_instant(self.since)}


def write_trouble(disk: Disk, path: Path, trouble: Trouble | None) -> None:
    """Let others know; None: all is well. An OSError where not even that can be written."""
    written = json.dumps(None if trouble is None else {"reason": trouble.reason[:1_000], "since": trouble.since})
    disk.write_over(path, written.encode().ljust(_ROOM))


def read_trouble(disk: Disk, path: Path) -> Trouble | None:
    """What the run that goes on waits for; None where it waits for nothing, or nobody can tell."""
    try:
        written = json.loads(disk.read(path))
        return None if written is None else Trouble(reason=str(written["reason"]), since=float(written["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
