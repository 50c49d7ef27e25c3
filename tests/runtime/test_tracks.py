"""Threads of tracks, which come and go."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from freshtide.core.commands import StartUpdate
from freshtide.core.events import Event, UpdateFinished
from freshtide.runtime.tracks import TrackThreads
from freshtide.world import SystemThreads


def carried_out(by: str, when: threading.Event | None = None) -> Callable[[StartUpdate], list[Event]]:
    """Ends when it is told to, and says who it was."""

    def carry_out(command: StartUpdate) -> list[Event]:
        if when is not None:
            when.wait()
        return [UpdateFinished(f"{command.table} by {by}", command.track, None, None, 1.0)]

    return carry_out


def test_an_update_ends_as_it_began_also_on_a_track_that_goes() -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    tracks = TrackThreads(2, events, SystemThreads())
    end = threading.Event()
    tracks.start(StartUpdate("long", 1, 0.0), carried_out("the old one", end))
    tracks.resize(1)
    tracks.start(StartUpdate("short", 0, 0.0), carried_out("the new one"))
    assert events.get() == UpdateFinished("short by the new one", 0, None, None, 1.0)
    # The track is back before its last update has ended, and is free as far as the scheduler is concerned.
    tracks.resize(3)
    tracks.start(StartUpdate("other", 2, 0.0), carried_out("the new one"))
    assert events.get() == UpdateFinished("other by the new one", 2, None, None, 1.0)
    end.set()
    assert events.get() == UpdateFinished("long by the old one", 1, None, None, 1.0)
    tracks.start(StartUpdate("again", 1, 0.0), carried_out("the new one"))
    assert events.get() == UpdateFinished("again by the new one", 1, None, None, 1.0)
    tracks.stop()
    assert tracks.fault is None
