"""The generator in real time."""

from __future__ import annotations

import threading
from typing import Protocol

from freshtide.demo.generator import Generator

_EVERY = 0.1


class Clock(Protocol):
    def now(self) -> float: ...


def feed_live(generator: Generator, clock: Clock, stop: threading.Event) -> threading.Thread:
    """Write files as they fall due, on a thread of their own, until stopped; the thread, to join."""

    def run() -> None:
        generator.write_until(clock.now())
        while not stop.wait(_EVERY):
            generator.write_until(clock.now())

    # A daemon: a demo that fails elsewhere must not be kept alive by its data.
    thread = threading.Thread(target=run, name="demo-feeds", daemon=True)
    thread.start()
    return thread
