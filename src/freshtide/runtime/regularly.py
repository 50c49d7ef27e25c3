"""Small things that are done once in a while for as long as a run lasts, beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from freshtide.core.errors import FreshtideError


@contextmanager
def regularly(do: Callable[[], None], *, every: float) -> Iterator[None]:
    """Do something each so many seconds while the block lasts. What fails is tried again the next time."""
    stop = threading.Event()

    def go_on() -> None:
        while not stop.wait(every):
            try:
                do()
            except FreshtideError:
                continue  # Whatever it is, the run meets it too, and tells.

    thread = threading.Thread(target=go_on, name="regularly", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
