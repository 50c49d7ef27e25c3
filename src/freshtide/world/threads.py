"""Threads: work that goes on beside other work, and how the two wait for each other.

In a run everything that waits does so here. So the same code runs with threads that take turns, in a time of their own.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, TypeVar

ItemT = TypeVar("ItemT")


class Task(Protocol):
    """Work that has been begun."""

    def join(self) -> None:
        """Wait until it has ended."""
        ...

    def is_alive(self) -> bool: ...


class Flag(Protocol):
    """Something that is so or not, and that can be waited for."""

    def set(self) -> None: ...

    def clear(self) -> None: ...

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, for so many seconds at most; whether it is."""
        ...


class Mailbox(Protocol[ItemT]):
    """Things that are handed over from anybody to one who waits for them, in order."""

    def put(self, item: ItemT) -> None: ...

    def get(self, block: bool = True, timeout: float | None = None) -> ItemT:
        """The next one; queue.Empty where none comes in time."""
        ...

    def get_nowait(self) -> ItemT: ...

    def empty(self) -> bool: ...


class Condition(Protocol):
    """A lock, and a way to wait, while it is given up, until something has changed under it."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool: ...

    def notify_all(self) -> None: ...


class Threads(Protocol):
    """Where work goes on."""

    def spawn(self, work: Callable[[], None], *, name: str) -> Task:
        """Begin with something that ends with the process at the latest."""
        ...

    def flag(self) -> Flag: ...

    def mailbox(self) -> Mailbox[Any]: ...

    def condition(self) -> Condition: ...

    def sleep(self, seconds: float) -> None: ...


class SystemThreads:
    """The threads of this process."""

    def spawn(self, work: Callable[[], None], *, name: str) -> Task:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def flag(self) -> Flag:
        return threading.Event()

    def mailbox(self) -> Mailbox[Any]:
        return queue.SimpleQueue()

    def condition(self) -> Condition:
        return threading.Condition()

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds)
