"""What has happened in a world, in order, for those who want to know how it came to something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class History:
    """Sentences with their moments. To take note is cheap: they are put into words when somebody reads them."""

    steady: Callable[[], float]
    _noted: list[tuple[float, str, str]] = field(default_factory=list)

    def note(self, what: str, about: str) -> None:
        self._noted.append((self.steady(), what, about))

    def lines(self) -> list[str]:
        return [f"{at:10.3f}  {what:<10} {about}" for at, what, about in self._noted]
