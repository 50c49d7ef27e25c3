"""Delta logs in Python over any disk, in the real format: entries of JSON, checkpoints of Parquet.

It stands in for delta-rs where the disk is simulated, and is held equal to it by a differential test
(`tests/faults/test_deltalog.py`). It replays what the protocol says a reader must, and knows no more features than the
tables of Freshtide use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import Schema

from freshtide.storage import DataFile, OpenLog, UnreadableLogError
from freshtide.storage.declarations import Declaration
from freshtide.storage.deltalog import checkpoint_hint, checkpoint_path, commit_path, log_folder
from freshtide.storage.statistics import parse_time_bound
from freshtide.world import Disk, names_in

_NAMED = re.compile(r"(\d{20})\.(json|checkpoint\.parquet)")
# How long a checkpoint keeps in mind what has left the table, in milliseconds: the default of the protocol.
_TOMBSTONES_KEPT = 7 * 86_400_000


class PlainDeltaLogs:
    """The logs of the tables on a disk."""

    def __init__(self, disk: Disk, clock: Callable[[], float]) -> None:
        self._disk = disk
        self._clock = clock

    def open(self, folder: Path, version: int | None = None) -> OpenLog:
        entries, checkpoints = self._listed(folder)
        newest = max((*entries, *checkpoints), default=None) if version is None else version
        if newest is None or newest not in {*entries, *checkpoints}:
            raise UnreadableLogError(f"There is no version {newest} in {log_folder(folder)}.")
        base = max((found for found in checkpoints if found <= newest), default=None)
        hinted = self._hinted(folder)
        if hinted is not None and (version is None or hinted <= version) and (base is None or base < hinted):
            raise UnreadableLogError(f"{checkpoint_hint(folder)} names a checkpoint that is not there.")
        state = LogState()
        if base is not None:
            state.apply(self._checkpoint(folder, base))
        for entry in range(0 if base is None else base + 1, newest + 1):
            if entry not in entries:
                raise UnreadableLogError(f"Entry {entry} is not in {log_folder(folder)}.")
            state.apply(self._entry(folder, entry))
        if not state.metadata or not state.protocol:
            raise UnreadableLogError(f"{log_folder(folder)} does not say what the table is.")
        return PlainOpenLog(disk=self._disk, clock=self._clock, folder=folder, version=newest, state=state)

    def _listed(self, folder: Path) -> tuple[set[int], set[int]]:
        """The versions that there are entries of, and those of checkpoints that are not empty."""
        log = log_folder(folder)
        found = [match for name in names_in(self._disk, log) if (match := _NAMED.fullmatch(name))]
        entries = {int(match[1]) for match in found if match[2] == "json"}
        summed_up = [match for match in found if match[2] != "json"]
        return entries, {int(match[1]) for match in summed_up if self._disk.look(log / match[0]).st_size}

    def _hinted(self, folder: Path) -> int | None:
        """The checkpoint that readers are told to begin with; one who is told wrong does not look for another."""
        hint = checkpoint_hint(folder)
        if not self._disk.exists(hint):
            return None
        try:
            return int(json.loads(self._disk.read(hint))["version"])
        except (ValueError, TypeError, KeyError):
            return None  # Torn, it is none.

    def _entry(self, folder: Path, version: int) -> Sequence[Mapping[str, Any]]:
        try:
            return _actions(self._disk.read(commit_path(folder, version)))
        except ValueError as error:
            raise UnreadableLogError(f"Entry {version} in {log_folder(folder)} is torn.") from error

    def _checkpoint(self, folder: Path, version: int) -> list[Mapping[str, Any]]:
        path = checkpoint_path(folder, version)
        try:
            rows = pq.ParquetFile(pa.BufferReader(self._disk.read(path))).read().to_pylist()
        except pa.ArrowException as error:
            raise UnreadableLogError(f"{path} is torn.") from error
        return [{kind: _plain(said) for kind, said in row.items() if said is not None} for row in rows]


@dataclass(slots=True)
class LogState:
    """What the entries of a log sum up to."""

    files: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Add actions by path, as the log writes it."""
    tombstones: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    transactions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """By application."""

    def apply(self, actions: Iterable[Mapping[str, Any]]) -> None:
        for action in actions:
            for kind, said in action.items():
                match kind:
                    case "add":
                        self.files[said["path"]] = said
                        self.tombstones.pop(said["path"], None)
                    case "remove":
                        self.files.pop(said["path"], None)
                        self.tombstones[said["path"]] = said
                    case "metaData":
                        self.metadata = said
                    case "protocol":
                        self.protocol = said
                    case "txn":
                        self.transactions[said["appId"]] = said

    def actions(self, *, removed_since_ms: int) -> Iterator[dict[str, Any]]:
        """The same state in as few actions as can be."""
        yield {"protocol": self.protocol}
        yield {"metaData": self.metadata}
        yield from ({"txn": said} for said in self.transactions.values())
        yield from ({"add": said} for said in self.files.values())
        for said in self.tombstones.values():
            if said.get("deletionTimestamp", 0) > removed_since_ms:
                yield {"remove": said}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainOpenLog:
    """A version of a table."""

    disk: Disk
    clock: Callable[[], float]
    folder: Path
    version: int
    state: LogState

    def schema(self) -> pa.Schema:
        return _schema(self.state.metadata["schemaString"])

    def declaration(self) -> Declaration:
        said = self.state.metadata
        return Declaration(
            id=said["id"],
            name=said["name"],
            created_ms=said["createdTime"],
            schema=_plain_schema(said["schemaString"]),
            partition_by=tuple(said["partitionColumns"]),
            features=tuple(self.state.protocol.get("readerFeatures") or ()),
            configuration=dict(said["configuration"]),
        )

    def files(self, time_column: str | None) -> tuple[DataFile, ...]:
        return tuple(_data_file(said, time_column) for said in self.state.files.values())

    def file_count(self) -> int:
        return len(self.state.files)

    def removed(self, *, hours: int) -> list[str]:
        before = (self.clock() - hours * 3_600) * 1_000
        gone = (unquote(path) for path, said in self.state.tombstones.items() if said["deletionTimestamp"] < before)
        return [path for path in gone if self.disk.exists(self.folder / path)]

    def transaction_version(self, application: str) -> int | None:
        said = self.state.transactions.get(application)
        return None if said is None else int(said["version"])

    def write_checkpoint(self) -> None:
        since = round(self.clock() * 1_000) - _TOMBSTONES_KEPT
        actions = list(self.state.actions(removed_since_ms=since))
        content = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(actions, schema=_CHECKPOINT), content)
        written = content.getvalue()
        self.disk.write(checkpoint_path(self.folder, self.version), written)
        hint = {
            "version": self.version,
            "size": len(actions),
            "sizeInBytes": written.size,
            "numOfAddFiles": len(self.state.files),
        }
        self.disk.write(checkpoint_hint(self.folder), json.dumps(hint).encode())


@lru_cache(maxsize=512)
def _actions(entry: bytes) -> Sequence[Mapping[str, Any]]:
    """What an entry says: it is read again by everybody who opens the table."""
    return [json.loads(line) for line in entry.decode().split("\n") if line.strip()]


@lru_cache
def _schema(said: str) -> pa.Schema:
    return pa.schema(Schema.from_json(said))


@lru_cache
def _plain_schema(said: str) -> str:
    return Schema.from_json(said).to_json()


@lru_cache(maxsize=512)
def _stats(said: str) -> Mapping[str, Any]:
    stats: Mapping[str, Any] = json.loads(said)
    return stats


def _data_file(said: Mapping[str, Any], time_column: str | None) -> DataFile:
    stats = _stats(said["stats"])
    partition = dict(said["partitionValues"])
    low, high = stats.get("minValues", {}).get(time_column), stats.get("maxValues", {}).get(time_column)
    if partition.get(time_column) is not None:
        low = high = partition[time_column]
    return DataFile(
        path=unquote(said["path"]),
        size=said["size"],
        rows=stats["numRecords"],
        partition_values=partition,
        modified_ms=said["modificationTime"],
        low=parse_time_bound(low, upper=False),
        high=parse_time_bound(high, upper=True),
    )


def _plain(said: Mapping[str, Any]) -> dict[str, Any]:
    """An action of a checkpoint as an entry would say it: maps are lists of pairs there."""
    maps = {name: dict(said[name]) for name in ("partitionValues", "configuration") if said.get(name) is not None}
    told = {name: value for name, value in {**said, **maps}.items() if value is not None}
    if "format" in told:
        told["format"] = {**told["format"], "options": dict(told["format"]["options"])}
    return told


_TEXTS = pa.map_(pa.string(), pa.string())
_NAMES = pa.list_(pa.string())
_FILE = [("path", pa.string()), ("partitionValues", _TEXTS), ("size", pa.int64()), ("dataChange", pa.bool_())]
_CHECKPOINT = pa.schema(
    {
        "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
        "add": pa.struct([*_FILE, ("modificationTime", pa.int64()), ("stats", pa.string())]),
        "remove": pa.struct([*_FILE, ("deletionTimestamp", pa.int64()), ("extendedFileMetadata", pa.bool_())]),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "name": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": _TEXTS}),
                "schemaString": pa.string(),
                "partitionColumns": _NAMES,
                "configuration": _TEXTS,
                "createdTime": pa.int64(),
            }
        ),
        "protocol": pa.struct(
            {
                "minReaderVersion": pa.int32(),
                "minWriterVersion": pa.int32(),
                "readerFeatures": _NAMES,
                "writerFeatures": _NAMES,
            }
        ),
    }
)
