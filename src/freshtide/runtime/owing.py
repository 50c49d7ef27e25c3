"""What is to be written down and cannot be yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from freshtide.core.errors import SurroundingsError


class Owed:
    """Writes in their order, each until it holds: nobody waits for them, and none is forgotten.

    Any thread may add some; one settles them.
    """

    def __init__(self, on_failure: Callable[[SurroundingsError], None]) -> None:
        self._on_failure = on_failure
        self._writes: deque[Callable[[], None]] = deque()

    def __bool__(self) -> bool:
        return bool(self._writes)

    def add(self, write: Callable[[], None]) -> None:
        self._writes.append(write)

    def settle(self) -> None:
        """Write as much as the surroundings allow."""
        try:
            self.settle_now()
        except SurroundingsError as error:
            self._on_failure(error)

    def settle_now(self) -> None:
        """Write everything; a SurroundingsError keeps what is left for later."""
        while self._writes:
            self._writes[0]()
            self._writes.popleft()
