"""Ctrl-C at moments that cannot bear it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait until what is done within has been done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread is ever interrupted.
        return
    noted = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        noted.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        # What was done may have set a handler of its own, as Spark does, which cancels what it is computing.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)
    if noted.is_set():
        raise KeyboardInterrupt
