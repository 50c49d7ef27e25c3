"""Whoever wants to hear of new rows at once."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa

_logger = logging.getLogger(__name__)

Listener = Callable[[list[dict[str, Any]]], None]


class Listeners:
    """Functions by table that are handed the rows of each commit, on the thread that made it."""

    def __init__(self) -> None:
        self._of: dict[str, list[Listener]] = defaultdict(list)
        self._lock = threading.Lock()

    def add(self, table: str, listener: Listener) -> None:
        with self._lock:
            self._of[table].append(listener)

    def tell(self, table: str, rows: pa.Table) -> None:
        """Hand on rows that have been committed; what goes wrong in a listener is no fault of the table."""
        with self._lock:
            listeners = tuple(self._of.get(table, ()))
        if not listeners or not rows.num_rows:
            return
        listed = rows.to_pylist()
        for listener in listeners:
            try:
                listener(listed)
            except Exception:
                _logger.warning("A listener of '%s' failed; the rows are in the table.", table, exc_info=True)
