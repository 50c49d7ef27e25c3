"""One operator that serves a queue of windows in virtual time, at a cost per tuple."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows import AppendWindowQueue, Mark, MarkedTuple, WindowQueue, WindowStaleness


@dataclass
class Operated:
    """What happened, each with its moment."""

    served: list[tuple[float, MarkedTuple]] = field(default_factory=list)
    results: list[tuple[float, float]] = field(default_factory=list)
    """The start of the window whose result was given."""
    dropped: list[tuple[float, int]] = field(default_factory=list)
    """The tags of tuples that made way for newer ones."""
    queue_staleness: dict[float, float] = field(default_factory=dict)
    application_staleness: dict[float, tuple[float, float]] = field(default_factory=dict)
    """Before and after what happens at that moment."""

    @property
    def commits(self) -> list[tuple[float, float]]:
        """The start of each window that was opened."""
        return [(at, marked.window.start) for at, marked in self.served if marked.mark is Mark.OPENS]

    @property
    def marks(self) -> list[tuple[float, float]]:
        """The time of each tuple and its number of table 1."""
        return [(marked.item.time, marked.win_spec) for _, marked in self.served if marked.item is not None]


def operate(
    queue: WindowQueue | AppendWindowQueue,
    arrivals: Iterable[StreamTuple],
    *,
    cost: float,
    staleness: WindowStaleness | None = None,
) -> Operated:
    """Tuples arrive at their own times. What arrives at a moment is there for what is served then."""
    done = Operated()
    serving: MarkedTuple | None = None
    free_at = 0.0
    for item in arrivals:
        now = item.time
        before = 0.0 if staleness is None else staleness.application(item.key, now)
        done.dropped += [(now, tag) for tag in queue.enqueue(item, now)]
        if staleness is not None:
            staleness.arrived(item.key, now, now)
        while free_at <= now:
            if serving is not None and serving.closes:
                done.results.append((now, serving.window.start))
                if staleness is not None:
                    staleness.delivered(serving.key, serving.window, now)
            serving = queue.dequeue_marked(now)
            if serving is None:
                break
            done.served.append((now, serving))
            if staleness is not None and serving.mark is Mark.OPENS:
                staleness.committed(serving.key, serving.window, now)
            free_at = now + (cost if serving.item is not None else 0.0)
        if staleness is not None:
            done.queue_staleness[now] = staleness.queue(item.key, now)
            done.application_staleness[now] = (before, staleness.application(item.key, now))
    return done
