"""A run that goes on while a test breaks things around it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from freshtide.runtime import EngineReport
from tests.waiting import PATIENCE, wait_until
from tests.warehouse.shop import Shop


class Running:
    """A run on a thread of its own, and what it has told so far."""

    def __init__(self, shop: Shop) -> None:
        self.news: list[str] = []
        self.report: EngineReport | None = None
        self.fault: BaseException | None = None
        self._stop = threading.Event()
        self._shop = shop
        self._bench = shop.warehouse.workbench  # on this thread, which may ask for it at the same moment
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.report = self._shop.warehouse.run(until=self._stop.is_set, on_news=self.news.append)
        except BaseException as error:
            self.fault = error

    def heard(self, words: str) -> bool:
        return any(words in sentence for sentence in self.news)

    def wait_for(self, what: Callable[[], bool]) -> None:
        """Wait until something is so; the run must go on meanwhile."""
        wait_until(what, unless=lambda: None if self._thread.is_alive() else (self.fault, self.news))

    def wait_for_fault(self) -> BaseException:
        """Wait until the run ends by itself, for what it raises."""
        self._thread.join(PATIENCE)
        assert self.fault is not None, self.news
        return self.fault

    def end(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def running(shop: Shop) -> Iterator[Running]:
    """A run that ends in order; no table may have been given up and nothing raised."""
    run = Running(shop)
    try:
        yield run
    finally:
        run.end()
    assert run.fault is None, run.fault
    assert run.report is not None
    assert run.report.failed == {}, run.report.failed
