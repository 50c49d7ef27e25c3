"""Single rows that a run leaves behind: kept in a file from its end until they are in their table.

Nobody can be asked for them again. The file is written under another name first, so that it is there whole or not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from freshtide.spark.latest.rows import Reject
from freshtide.storage import aligned
from freshtide.world import Disk, make_folder, sync_files

_BESIDE = b"freshtide"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What waits for a table when a run ends, the oldest rows of each key first."""

    rows: pa.Table
    since: float
    """When the oldest of them arrived."""
    definition: str = ""
    """Of the table that it waited for."""
    rejects: Sequence[Reject] = ()
    uncounted: int = 0
    """Rows that no commit has counted among those that were read."""


class Spool:
    """The file of one table."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path = path
        self._disk = disk

    def put(self, left: LeftBehind) -> None:
        """Keep this, and nothing of what was kept before."""
        beside = {
            "since": left.since,
            "definition": left.definition,
            "uncounted": left.uncounted,
            "rejects": [asdict(reject) for reject in left.rejects],
        }
        make_folder(self._disk, self.path.parent)
        unfinished = self.path.with_suffix(".unfinished")
        content = pa.BufferOutputStream()
        rows = left.rows.replace_schema_metadata({_BESIDE: json.dumps(beside).encode()})
        with pa.ipc.new_file(content, rows.schema) as writer:
            writer.write_table(rows)
        self._disk.write(unfinished, content.getvalue())
        sync_files(self._disk, [unfinished])
        self._disk.rename(unfinished, self.path)
        self._disk.sync(self.path.parent)

    def get(self, schema: pa.Schema) -> LeftBehind | None:
        """What was kept, with the columns of a schema; rows that no longer fit into it are rejects."""
        if not self._disk.exists(self.path):
            return None
        with pa.ipc.open_file(self._disk.read(self.path)) as reader:
            rows = reader.read_all()
        beside = json.loads(rows.schema.metadata[_BESIDE])
        rejects = [Reject(**reject) for reject in beside["rejects"]]
        try:
            fitting = aligned(rows, schema)
        except pa.ArrowException:
            fitting = schema.empty_table()
            rejects += [_misfit(self.path, row) for row in rows.to_pylist()]
        said = {name: beside[name] for name in ("since", "definition", "uncounted")}
        return LeftBehind(rows=fitting, rejects=rejects, **said)

    def clear(self) -> None:
        """What was kept is in the table."""
        if self._disk.exists(self.path):
            self._disk.remove(self.path)
            self._disk.sync(self.path.parent)


def _misfit(path: Path, row: dict[str, object]) -> Reject:
    reason = "it waited while the schema of its feed was changed"
    return Reject(file=str(path), content=json.dumps(row, default=str), reason=reason)
