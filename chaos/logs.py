"""The logs of all Delta tables, followed entry by entry: JSON, and nothing of Freshtide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Logs:
    """Knows how far each log goes. An entry that was seen once is not looked for again: it may be pruned."""

    def __init__(self, storage: Path) -> None:
        self._storage = storage
        self._newest: dict[str, int] = {}

    def tables(self) -> list[str]:
        return sorted(path.name for path in self._storage.glob("*") if not path.name.startswith(("_", ".")))

    def newest(self, table: str) -> int:
        """The newest version of a table; -1 while there is none."""
        version = self._newest.get(table, -1)
        while self.entry(table, version + 1).exists():
            version += 1
        self._newest[table] = version
        return version

    def commits(self) -> int:
        """How many versions all tables have had together."""
        return sum(self.newest(table) + 1 for table in self.tables())

    def most_since_checkpoint(self) -> int:
        """How many versions a table has at most that no checkpoint holds."""
        return max((self.newest(table) - self._checkpoint(table) for table in self.tables()), default=0)

    def _checkpoint(self, table: str) -> int:
        hint = self.entry(table, 0).with_name("_last_checkpoint")
        return int(json.loads(hint.read_text())["version"]) if hint.exists() else -1

    def entry(self, table: str, version: int) -> Path:
        return self._storage / table / "_delta_log" / f"{version:020d}.json"

    def said(self, table: str, version: int) -> dict[str, Any] | None:
        """What a commit says of itself; None while it is torn."""
        text = self.entry(table, version).read_text(encoding="utf-8", errors="replace")
        try:
            actions = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            return None
        infos = [action["commitInfo"] for action in actions if "commitInfo" in action]
        return infos[0].get("freshtide", {}) if infos else None

    def is_beyond(self, table: str, version: int) -> bool:
        """Whether a log has entries beyond a version."""
        known = self.entry(table, version).name
        return any(path.name > known for path in self.entry(table, version).parent.glob(f"{'[0-9]' * 20}.json"))
