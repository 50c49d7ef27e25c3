"""What a run begins with and leaves behind: for the run itself, and for those who look on from other processes.

Where a project keeps what (`places`), what its scheduler starts from (`beginning`) and in which rhythm its feeds come
(`rhythms`), what it is told of what waits (`announcements`), what others see of it while it runs (`presence`), the
trace of what was decided, trouble that it waits for, what belongs to each table and what of that is lost (`losses`),
whether files are what they were (`integrity`). Nothing here runs anything, and nothing reports to users: that is
`runtime` and `observe`.
"""

from freshtide.runs.announcements import leftover_announcements, pending_announcements
from freshtide.runs.beginning import beginning_of, reach_of, reconfigure, scheduler_from, uniform_of
from freshtide.runs.integrity import has_changed, loaded_files, look_at, require_files, to_rebuild_from
from freshtide.runs.losses import Holding, Loss, LossFinder, holdings
from freshtide.runs.patterns import FILES_LOOKED_AT, ArrivalPattern, arrival_pattern
from freshtide.runs.places import Places
from freshtide.runs.presence import Presence, SeenRun, seen_by_others, seen_run, unapplied
from freshtide.runs.replay import Difference, Replay, TraceError, last_beginning, replay_trace, traced_look
from freshtide.runs.rhythms import FeedRhythm, KnownBy, rhythm_from, rhythm_of
from freshtide.runs.traces import Reached, beginning_line, change_line, continuation_line, decision_line
from freshtide.runs.troubles import Trouble, read_trouble, write_trouble

__all__ = [
    "FILES_LOOKED_AT",
    "ArrivalPattern",
    "Difference",
    "FeedRhythm",
    "Holding",
    "KnownBy",
    "Loss",
    "LossFinder",
    "Places",
    "Presence",
    "Reached",
    "Replay",
    "SeenRun",
    "TraceError",
    "Trouble",
    "arrival_pattern",
    "beginning_line",
    "beginning_of",
    "change_line",
    "continuation_line",
    "decision_line",
    "has_changed",
    "holdings",
    "last_beginning",
    "leftover_announcements",
    "loaded_files",
    "look_at",
    "pending_announcements",
    "reach_of",
    "read_trouble",
    "reconfigure",
    "replay_trace",
    "require_files",
    "rhythm_from",
    "rhythm_of",
    "scheduler_from",
    "seen_by_others",
    "seen_run",
    "to_rebuild_from",
    "traced_look",
    "unapplied",
    "uniform_of",
    "write_trouble",
]
