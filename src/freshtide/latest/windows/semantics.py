"""What the semantics of windows decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from freshtide.core.latest import WindowSemantics
from freshtide.latest.windows.buffers import WindowBuffer


class Semantics(Protocol):
    """Decides which window of a key is its most recent update (the MRU rules of section 6.2)."""

    name: ClassVar[WindowSemantics]

    def enqueue(self, buffer: WindowBuffer, time: float, values: Sequence[Any], tag: int) -> bool:
        """Take in a tuple that is newer than all of its key. Does another window wait because of it (isUpdate)?

        MemoryLimitError if there is no room for it: then the buffer is as it was.
        """
        ...

    def commit(self, buffer: WindowBuffer) -> None:
        """Begin to process the window that waits."""
        ...
