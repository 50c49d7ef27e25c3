"""Small things that are done once in a while for as long as a run lasts, beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from freshtide.core.errors import FreshtideError
from freshtide.world import Threads


@contextmanager
def regularly(do: Callable[[], None], *, every: float, threads: Threads) -> Iterator[None]:
    """Do something each so many seconds while the block lasts. What fails is tried again the next time."""
    stop = threads.flag()

    def go_on() -> None:
        while not stop.wait(every):
            try:
                do()
            except FreshtideError:
                continue  # Whatever it is, the run meets it too, and tells.

    task = threads.spawn(go_on, name="regularly")
    try:
        yield
    finally:
        stop.set()
        task.join()
