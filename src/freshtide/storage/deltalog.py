"""The Delta log as files: reading what commits recorded, and mending what a crash tore."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from freshtide.storage.records import UpdateRecord

METADATA_KEY = "freshtide"


def log_folder(folder: Path) -> Path:
    return folder / "_delta_log"


def commit_path(folder: Path, version: int) -> Path:
    return log_folder(folder) / f"{version:020d}.json"


def exists(folder: Path) -> bool:
    """Whether there is a table: a log with at least one whole commit."""
    return any(True for _ in _versions(folder))


def records(folder: Path, *, after: int = -1) -> Iterator[tuple[int, UpdateRecord]]:
    """(version, record) of the updates committed after a version and not rolled back, oldest first."""
    found: list[tuple[int, UpdateRecord]] = []
    for version in sorted(_versions(folder)):
        if version > after:
            metadata = _metadata(folder, version)
            if "number" in metadata:
                found.append((version, UpdateRecord.from_metadata(metadata)))
            elif "back_to" in metadata:
                found = [(old, record) for old, record in found if record.number <= metadata["back_to"]]
    yield from found


def latest_record(folder: Path, version: int) -> UpdateRecord | None:
    """The newest update at or before a version; compactions and what was rolled back are passed over."""
    highest: int | None = None
    for candidate in range(version, -1, -1):
        metadata = _metadata(folder, candidate)
        if "back_to" in metadata:
            highest = metadata["back_to"] if highest is None else min(highest, metadata["back_to"])
        elif "number" in metadata and (highest is None or metadata["number"] <= highest):
            return UpdateRecord.from_metadata(metadata)
    return None


def records_after(folder: Path, version: int, number: int) -> Iterator[UpdateRecord]:
    """The updates up to a version whose number is greater than the given one, newest first."""
    for candidate in range(version, -1, -1):
        metadata = _metadata(folder, candidate)
        if "number" in metadata:
            if metadata["number"] <= number:
                return
            yield UpdateRecord.from_metadata(metadata)


def _metadata(folder: Path, version: int) -> dict[str, Any]:
    """What a commit of ours says about itself: an update its `number`, a rollback the number it goes `back_to`."""
    for action in _actions(folder, version):
        metadata: dict[str, Any] | None = action.get("commitInfo", {}).get(METADATA_KEY)
        if metadata is not None:
            return metadata
    return {}


def drop_torn_tail(folder: Path) -> None:
    """Remove commits at the end of the log that a crash left empty or half written.

    A commit is reported only after its log file has been synced, so whatever is torn was never promised to
    anybody. delta-rs would open such a table silently without the data.
    """
    for version in sorted(_versions(folder), reverse=True):
        path = commit_path(folder, version)
        if _is_whole(path):
            return
        path.unlink()


def newest_whole(folder: Path) -> int | None:
    """The newest version that a crash has not torn."""
    whole = (version for version in sorted(_versions(folder), reverse=True) if _is_whole(commit_path(folder, version)))
    return next(whole, None)


def drop_checkpoints(folder: Path) -> None:
    """Forget all checkpoints: every commit is kept as JSON, so they can be written anew."""
    for path in log_folder(folder).glob("*.checkpoint*"):
        path.unlink()
    (log_folder(folder) / "_last_checkpoint").unlink(missing_ok=True)


def _versions(folder: Path) -> Iterator[int]:
    try:
        names = [path.name for path in log_folder(folder).iterdir()]
    except FileNotFoundError:
        return
    for name in names:
        stem, _, ending = name.partition(".")
        if ending == "json" and len(stem) == 20 and stem.isdigit():
            yield int(stem)


def _actions(folder: Path, version: int) -> Iterator[dict[str, Any]]:
    try:
        text = commit_path(folder, version).read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    yield from _parsed(text)


def _is_whole(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.strip():
        return False
    try:
        actions = _parsed(text)
    except ValueError:
        return False
    # Torn between two lines, what is left is readable all the same; delta-rs writes the transaction last.
    ours = any(METADATA_KEY in action.get("commitInfo", {}) for action in actions)
    return not ours or "txn" in actions[-1]


def _parsed(text: str) -> list[dict[str, Any]]:
    # Not splitlines: a path or a value may hold one of the rarer line separators, which JSON leaves as they are.
    return [json.loads(line) for line in text.split("\n") if line.strip()]
