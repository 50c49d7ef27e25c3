"""Time that goes by between two runs: all that lies in the storage becomes older than what is kept.

Without it no campaign is long enough for a file to be swept or an entry of a log to be pruned.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

_DAYS = 2
_SECONDS = _DAYS * 86_400
_REMOVED_AT = re.compile(r'("deletionTimestamp":\s*)(\d+)')


def let_days_pass(storage: Path) -> None:
    """While nobody writes: what came since the last time becomes two days older."""
    young = time.time() - _SECONDS / 2
    for folder in (path for path in storage.glob("*") if not path.name.startswith(("_", "."))):
        for path in folder.rglob("*.parquet"):
            _grow_old(path, young)
        for entry in folder.glob("_delta_log/*.json"):
            if entry.stat().st_mtime < young:
                continue
            # Linked, never changed in place, as the entries of a log are.
            aged = entry.with_name(f".{entry.name}.aged")
            aged.write_text(_REMOVED_AT.sub(_earlier, entry.read_text()))
            _grow_old(aged, young)
            aged.rename(entry)


def _grow_old(path: Path, young: float) -> None:
    written = path.stat().st_mtime
    if written >= young:
        os.utime(path, (written - _SECONDS, written - _SECONDS))


def _earlier(found: re.Match[str]) -> str:
    return f"{found[1]}{int(found[2]) - 1_000 * _SECONDS}"
