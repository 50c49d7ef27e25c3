"""Running a warehouse in the foreground, with a view of what it does."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from freshtide.cli.output import console, number_of
from freshtide.cli.tables import status_table
from freshtide.core.durations import format_duration
from freshtide.core.errors import FreshtideError
from freshtide.core.health import Outage
from freshtide.observe import WarehouseStatus, outage_story
from freshtide.runtime import EngineReport
from freshtide.warehouse import Warehouse

_REPORT_EVERY = 10.0
_ENDED_AT_ONCE = "Ended at once. Nothing is lost: the next run repeats what was going on."
# Back from the screen of the live table, with a cursor.
_NORMAL_SCREEN = b"\x1b[?1049l\x1b[?25h"
_ENDING = "ending: running updates finish first (Ctrl-C again does not wait)"


def run_in_foreground(
    warehouse: Warehouse,
    *,
    once: bool = False,
    watch: bool = False,
    seconds: float | None = None,
    quiet: bool = False,
    meanwhile: Callable[[threading.Event], None] | None = None,
) -> EngineReport:
    """Run until Ctrl-C, the end of `seconds`, or with `once` until all is loaded; with `watch` follow the project.

    `meanwhile` runs on a thread of its own and is told when to stop.
    """
    stop = threading.Event()
    clock = warehouse.workbench.clock
    began = clock.steady()
    helper = threading.Thread(target=meanwhile, args=(stop,), daemon=True) if meanwhile else None
    view = _View(warehouse, began, stop, quiet=quiet)
    with _stopping_on_signals(stop), view:
        if helper:
            helper.start()
        report = warehouse.run(
            stop=stop,
            once=once,
            watch=watch,
            until=None if seconds is None else lambda: clock.steady() - began >= seconds,
            on_outage=view.tell_outage,
            on_news=view.tell_news,
        )
    stop.set()
    if helper:
        helper.join()
    return report


class _View:
    """A live table on a terminal, a line every now and then elsewhere."""

    def __init__(self, warehouse: Warehouse, began: float, ending: threading.Event, *, quiet: bool) -> None:
        self._warehouse = warehouse
        self._began = began
        self._ending = ending
        self._quiet = quiet
        self._live: Live | None = None
        self._stop = threading.Event()
        self._lines: threading.Thread | None = None

    def __enter__(self) -> None:
        if self._quiet:
            return
        if console.is_terminal:
            # On a screen of its own: in the flow of the terminal, resizing would leave torn tables behind.
            self._live = Live(get_renderable=self._picture, console=console, refresh_per_second=3, screen=True)
            self._live.__enter__()
        else:
            self._lines = threading.Thread(target=self._tell, daemon=True)
            self._lines.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._live is not None:
            self._live.__exit__(None, None, None)
        if self._lines is not None:
            self._lines.join()

    def tell_outage(self, feed: str, outage: Outage) -> None:
        """A line as soon as a feed is in an outage or back; on a terminal the live table marks its tables."""
        if self._lines is not None:
            now = self._warehouse.workbench.clock.now()
            console.print(escape(outage_story(feed, outage, now)), soft_wrap=True)

    def tell_news(self, sentence: str) -> None:
        """A line when something goes wrong or is well again; the live table shows what is wrong now."""
        if self._lines is not None:
            console.print(escape(sentence), soft_wrap=True)

    def _picture(self) -> RenderableType:
        try:
            status = self._warehouse.status()
        except FreshtideError as error:
            return Text(_unknown(error))
        updates = number_of(sum(table.updates for table in status.tables), "update")
        parts = [format_duration(self._warehouse.workbench.clock.steady() - self._began), updates, _objective(status)]
        if status.surroundings is not None:
            parts.insert(0, status.surroundings.story(status.at))
        if status.trouble:
            parts.append(f"{status.trouble}: `freshtide feeds`")
        # Title, header and this line are always there.
        most = max(1, console.height - 3)
        if len(status.updated) > most:
            parts.append(f"{len(status.updated) - most} more tables below")
        parts.append(_ENDING if self._ending.is_set() else "Ctrl-C stops")
        table = status_table(status, title=f"Freshtide · {escape(status.name)}", width=console.width, most=most)
        return Group(table, Text(" · ".join(parts), style="dim", no_wrap=True, overflow="ellipsis"))

    def _tell(self) -> None:
        while not self._stop.wait(_REPORT_EVERY):
            try:
                told = _in_a_line(self._warehouse.status())
            except FreshtideError as error:
                told = _unknown(error)
            console.print(escape(told), soft_wrap=True)


def _in_a_line(status: WarehouseStatus) -> str:
    updates = number_of(sum(table.updates for table in status.tables), "update")
    if status.surroundings is not None:
        return f"{status.surroundings.story(status.at)} ({updates} so far)"
    pending = sum(table.residents or table.pending for table in status.tables)
    behind = ", ".join(table.name for table in status.broken) or "none"
    return f"{updates} so far, {pending} pending; {_objective(status)}; beyond their target lag: {behind}"


def _objective(status: WarehouseStatus) -> str:
    return f"weighted staleness {format_duration(status.objective.weighted_staleness)}"


def _unknown(error: FreshtideError) -> str:
    """The run goes on, whatever keeps us from seeing what it does."""
    return f"How the tables stand cannot be told now: {error.message}"


class _stopping_on_signals:  # noqa: N801 - reads as the phrase it is used in
    """The first Ctrl-C lets running updates finish; a second one ends at once, even while Spark is being stopped."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._is_ending = False

    def __enter__(self) -> None:
        self._before = {kind: signal.signal(kind, self._on_signal) for kind in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(self, *_: object) -> None:
        if self._is_ending:
            return
        for kind, handler in self._before.items():
            signal.signal(kind, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._is_ending:
            _end_at_once(number)
        self._is_ending = True
        self._stop.set()


def _end_at_once(number: int) -> NoReturn:
    """Leave without a word from the threads that are in the midst of something; Spark ends when we are gone."""
    if console.is_terminal:
        os.write(1, _NORMAL_SCREEN)
    os.write(2, f"{_ENDED_AT_ONCE}\n".encode())
    os._exit(128 + number)
