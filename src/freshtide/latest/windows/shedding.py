"""Append windowing that drops windows at random (the second baseline of Moga et al. 2009, section 6.3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from freshtide.latest.pages import PAGE_SIZE, ColumnKind, PagePool
from freshtide.latest.windows.append import AppendWindowQueue
from freshtide.latest.windows.arithmetic import WindowGrid


class WindowSheddingQueue(AppendWindowQueue):
    """An append queue of windows that drops a share of them whole, as they start, whichever are the latest."""

    def __init__(
        self,
        pool: PagePool,
        values: Sequence[ColumnKind],
        *,
        grid: WindowGrid,
        share: float,
        uniform: Callable[[], float],
        page_size: int = PAGE_SIZE,
    ) -> None:
        super().__init__(pool, values, grid=grid, page_size=page_size)
        self._share = share
        self._uniform = uniform

    def _takes_window(self) -> bool:
        return self._uniform() >= self._share
