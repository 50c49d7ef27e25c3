"""A warehouse at work on a thread of its own, fed by renaming files into place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol

from bench.readings import SCHEMA
from freshtide import Warehouse
from freshtide.runtime import EngineReport, Workbench


def add_feed(warehouse: Warehouse, feed: str, folder: Path) -> None:
    """A feed of readings whose files are complete when they appear."""
    folder.mkdir(parents=True, exist_ok=True)
    warehouse.feed(
        feed, path=f"{folder}/*.csv", format="csv", schema=SCHEMA, time_column="ts", settle="renamed", period="1s"
    )


class Runnable(Protocol):
    """A warehouse, as far as it is run."""

    @property
    def workbench(self) -> Workbench: ...

    def run(self, *, stop: threading.Event) -> EngineReport: ...


class Running:
    """`Warehouse.run` on a thread; an error in it comes out at the next look or at the end of the block."""

    def __init__(self, warehouse: Runnable) -> None:
        self._warehouse = warehouse
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warehouse", daemon=True)
        self._error: BaseException | None = None
        # Open it here: what is wrong with the declarations is then raised at once.
        self.workbench = warehouse.workbench

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=60)
        if error is None:
            self.check()

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def wait(self, done: Callable[[], bool], *, limit: float, every: float = 0.05) -> bool:
        """Wait until it is done; False if that takes longer than the limit."""
        end = time.monotonic() + limit
        while not done():
            self.check()
            if time.monotonic() > end:
                return False
            time.sleep(every)
        return True

    def _run(self) -> None:
        try:
            report = self._warehouse.run(stop=self._stop)
            if report.failed:
                raise RuntimeError(f"tables failed: {report.failed}")
        except BaseException as error:
            self._error = error


def drop(files: Mapping[Path, Path]) -> dict[Path, float]:
    """Rename files into place, all at once; the moment of each, by its new path."""
    moments = {}
    for source, target in files.items():
        moments[target] = time.time()
        source.rename(target)
    return moments
