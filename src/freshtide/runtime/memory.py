"""What updates leave behind for later ones, beside tables and catalog."""

from __future__ import annotations

from dataclasses import dataclass, field

from freshtide.runtime.absences import Absences
from freshtide.runtime.pieces import PieceSizes
from freshtide.runtime.rebuilds import Rebuilds
from freshtide.runtime.suspects import Suspects


@dataclass(slots=True, kw_only=True)
class UpdateMemory:
    """Of one run. Workers come and go with the project; whichever carries out an update, all of them know this."""

    suspects: Suspects
    absences: Absences = field(default_factory=Absences)
    pieces: PieceSizes = field(default_factory=PieceSizes)
    rebuilds: Rebuilds = field(default_factory=Rebuilds)
    awaiting: dict[str, bool] = field(default_factory=dict)
    """Tables whose loads wait for another table, and whether it is a rebuild that waits."""
    revised: set[str] = field(default_factory=set)
    """Groups that have revised tables whose dependents do not know of it yet, because a later table failed."""
