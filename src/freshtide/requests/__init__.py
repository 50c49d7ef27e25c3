"""What users ask of a warehouse: pause, resume, backfill or none after all, and what is to become of a file.

Each of these is carried out in one place (`handling`): in the catalog, and with the events that a scheduler has to hear
of. Who asks need not know whether a run is going on (`asking`): that run does it, or the next one finds it done.
"""

from freshtide.requests.asking import ask, ask_the_run, is_starting
from freshtide.requests.handling import (
    Answer,
    NothingToCancelError,
    NothingToRebuildError,
    RequestHandler,
    cancelled,
    require_rebuildable,
)

__all__ = [
    "Answer",
    "NothingToCancelError",
    "NothingToRebuildError",
    "RequestHandler",
    "ask",
    "ask_the_run",
    "cancelled",
    "is_starting",
    "require_rebuildable",
]
